#pragma once

#include "base/bytes.h"

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace dt {

/// Carries the bytes to and from one agent. They pass through the pipes of a local process, or an
/// SSH connection of this process. Else they pass through a client program (ssh, --rsh-agent) that
/// connects to the host.
class AgentConnection {
 public:
  /// Why the connection ended.
  struct CloseReason {
    std::string why;               ///< for people; does not name the host
    std::string stderr_text = {};  ///< the end of the remote side's stderr
    bool again = false;            ///< the same try may succeed a little later
    bool refused = false;          ///< no process listens at the host's port
    bool unknown_name = false;     ///< the resolver knows no such name, perhaps not yet
    bool elsewhere = false;        ///< another kind of connection may succeed
    bool timed_out = false;        ///< the launcher ended it, since nothing came in time
    bool logged_in = false;        ///< the login succeeded: its output explains more than `why`
  };
  /// Called from the Loop, never within a call of a member function.
  struct Handlers {
    /// Returns how many bytes at the front of `received` it has consumed, as a Stream's handler
    /// does. May call hang_up(), but must not destroy the connection.
    std::function<size_t(ByteSpan received)> on_bytes;
    /// Called once, unless hang_up() or kill() came first. May destroy the connection.
    std::function<void(CloseReason reason)> on_end;
    /// Called when all written bytes have left this process. May be empty; must not destroy the
    /// connection.
    std::function<void()> on_drained = {};
    /// Called with the end of the remote side's stderr, whenever more of it came. May be empty; may
    /// call hang_up(), but must not destroy the connection.
    std::function<void(std::string_view stderr_text)> on_stderr = {};
  };

  AgentConnection() = default;
  AgentConnection(const AgentConnection&) = delete;
  AgentConnection& operator=(const AgentConnection&) = delete;
  virtual ~AgentConnection() = default;

  /// Queues bytes. Requires that bytes have come from the agent's host before.
  virtual void write(ByteSpan bytes) = 0;
  /// Returns the queued bytes that the kernel has not taken. A caller that produces without limit
  /// waits while there are many.
  virtual size_t unsent() const = 0;
  /// Ends the time limit for connecting: the agent has answered.
  virtual void arrived() {}
  /// Ends the agent's input once all is sent. on_end is still called.
  virtual void close_after_sending() = 0;
  /// Closes both directions. No handler is called any more.
  virtual void hang_up() = 0;
  /// Returns the reason that on_end would get if the connection ended now.
  virtual CloseReason so_far() = 0;
  /// Returns how and with which key the host was reached, in words, as far as known. Empty for an
  /// agent of this machine.
  virtual std::string login() const { return {}; }
  /// True when neither a connection nor a process is left.
  virtual bool ended() const = 0;
  /// True for a child process of this connection; only the connection may reap it.
  virtual bool owns(pid_t /*pid*/) const { return false; }
  /// Closes both directions and kills the process of the connection, if any.
  virtual void kill() { hang_up(); }
};

}  // namespace dt
