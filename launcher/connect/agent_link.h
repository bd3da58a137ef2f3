#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_connection.h"
#include "launcher/connect/agent_start.h"
#include "launcher/connect/dialed_hosts.h"
#include "launcher/connect/remote_hosts.h"
#include "launcher/protocol/lease.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// How the launcher reaches agents; the same for all hosts of a job.
struct ConnectOptions {
  LoginOptions ssh;
  AgentBinary binary;           ///< sent to hosts without it; empty without remote hosts
  std::string architecture;     ///< of this machine, as uname -m prints it
  uint64_t open_files_max = 0;  ///< soft limit for the tasks of this machine
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  Duration local_dead_after = seconds(60);  ///< for the agent of this machine
  uint64_t noise = 0;                       ///< varies, with the host, the pauses between tries
  /// Starts a process that connects to the host, instead of SSH (tests); may be empty.
  std::function<Result<SpawnedProcess>(const Host&)> other;
  /// How one program starts the agents of all other hosts, instead of SSH; may be empty.
  std::optional<DialedHosts::Options> dialed;
  bool scheduled = false;  ///< this machine's agent, as in AgentPlace
  // Shared by all connections; set by the AgentGroup.
  RemoteHosts* remote = nullptr;
  DialedHosts* dialed_hosts = nullptr;
};

/// One agent and the connection to it: starts the agent, exchanges frames with it, and knows why
/// it was lost.
///
///   starting ─── magic line ───▶ speaking ───▶ closed
///      └──────────────────────────────────────↗  the connection ended, lose() or close()
///
/// A host runs its cached executable first. If that does not become an agent, the link starts once
/// more and has the host verify its copy (CachedExecutable::untrusted).
class AgentLink {
 public:
  struct Handlers {
    /// When it fails, the link is lost.
    std::function<Result<>(const FrameView& message)> on_message;
    /// Called once when the agent is lost, never after close(); why() has the reason.
    std::function<void()> on_lost;
  };
  /// `options` outlives this.
  AgentLink(Loop& loop, Host host, const ConnectOptions& options, Handlers handlers);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  /// Opens the connection. After a failure only lose(), close(), kill() and destruction are
  /// allowed.
  Result<> start();
  /// Sends frames; those for an agent that is still starting wait for its magic line.
  void write(ByteSpan frames);
  /// Closes both directions for this reason, and calls on_lost.
  void lose(std::string why);
  /// Ends the agent's input once all is sent. No handler is called any more.
  void close();
  /// True when neither a connection nor a process is left.
  bool ended() const { return !connection_ || connection_->ended(); }
  /// True for the child process of the connection; only the link may reap it.
  bool owns(pid_t pid) const { return connection_ && connection_->owns(pid); }
  /// Kills the connection's process on this machine, if any.
  void kill();

  const Host& host() const { return host_; }
  /// The host has another name from now on.
  void rename(std::string name) { host_.name = std::move(name); }
  bool closed() const { return closed_; }
  /// True after the magic line, until the link is closed.
  bool speaking() const { return !starting_ && !closed_; }
  const std::string& why() const { return why_; }
  /// Returns how and with which key the host was reached, in words.
  std::string login() const { return connection_ ? connection_->login() : ""; }
  /// True if the executable was sent to the host.
  bool pushed() const { return pushed_; }
  Lease& lease() { return lease_; }

 private:
  AgentConnection::Handlers connection_handlers();
  Result<std::unique_ptr<AgentConnection>> open_connection();
  size_t receive(ByteSpan bytes);
  size_t receive_start(ByteSpan bytes);
  size_t receive_frames(ByteSpan bytes);
  void push_some();
  void connection_ended(const AgentConnection::CloseReason& reason);
  std::string why_not_started(const AgentConnection::CloseReason& reason);
  /// Loses the link if its keeper has reported on stderr how the agent ended.
  void find_end_report(std::string_view stderr_text);

  Loop& loop_;
  Host host_;
  const ConnectOptions& connect_options_;
  Handlers handlers_;
  std::unique_ptr<AgentConnection> connection_;  ///< null until it has been started
  std::optional<AgentStart> starting_;
  ByteSpan unpushed_;  ///< the rest of the executable that is not queued yet
  MessageAssembler assembler_;
  Lease lease_;
  CachedExecutable cached_executable_;
  Bytes early_;  ///< frames that wait for the magic line
  bool pushed_ = false;
  bool closed_ = false;
  std::string why_;
};

}  // namespace dt
