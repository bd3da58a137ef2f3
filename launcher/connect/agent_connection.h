#pragma once

#include "base/bytes.h"

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace dt {

/// The bytes to and from one agent, however they travel: through pipes, a connection of ours, or a
/// program that has one.
class AgentConnection {
 public:
  /// How it ended.
  struct End {
    std::string why;         ///< for people; does not name the host
    std::string said = {};   ///< what came beside the bytes, on the other side's stderr
    bool again = false;      ///< the same may go well a little later
    bool elsewhere = false;  ///< another carrier may do what this one cannot
    bool timed_out = false;  ///< it was given up while nothing came
    bool logged_in = false;  ///< the host let us in: what it sent tells more than `why`
  };
  /// Called from the Loop only, never within a call of ours.
  struct Handlers {
    /// As Stream's: returns how many bytes at the front of `received` are used up. May hang up, but
    /// not destroy the way.
    std::function<size_t(ByteSpan received)> on_bytes;
    /// Called once, unless it was hung up. May destroy the way.
    std::function<void(End end)> on_end;
    /// All that was written has left. May be empty; must not destroy the way.
    std::function<void()> on_drained = {};
    /// More came beside the bytes: the end of all of it. May be empty; may hang up, but not destroy
    /// the way.
    std::function<void(std::string_view said)> on_said = {};
  };

  AgentConnection() = default;
  AgentConnection(const AgentConnection&) = delete;
  AgentConnection& operator=(const AgentConnection&) = delete;
  virtual ~AgentConnection() = default;

  /// Queues bytes; to be called once some have come, never before.
  virtual void write(ByteSpan bytes) = 0;
  /// Bytes queued and not yet taken by the kernel; callers that produce without limit watch it.
  virtual size_t unsent() const = 0;
  /// The agent has answered: from now on there is no hurry.
  virtual void arrived() {}
  /// The agent sees the end of its input once all is sent. Its end is still told.
  virtual void close_after_sending() = 0;
  /// Ends both directions; nothing more is told.
  virtual void hang_up() = 0;
  /// How it looks now, as if it had ended.
  virtual End so_far() = 0;
  /// Through what, and with which key: in words, as far as it is known. Empty for this machine.
  virtual std::string login() const { return {}; }
  /// Nothing is left of it, no connection and no process.
  virtual bool over() const = 0;
  /// Whether this child of ours is its process, whose status only it may collect.
  virtual bool owns(pid_t /*pid*/) const { return false; }
  /// What is still left ends now.
  virtual void kill() { hang_up(); }
};

}  // namespace dt
