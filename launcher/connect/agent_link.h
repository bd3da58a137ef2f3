#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_connection.h"
#include "launcher/connect/agent_start.h"
#include "launcher/connect/remote_hosts.h"
#include "launcher/protocol/lease.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// How agents are reached; the same for all hosts of a job.
struct ConnectOptions {
  LoginOptions ssh;
  AgentBinary binary;           ///< for hosts that do not have it; empty without remote hosts
  std::string architecture;     ///< of this machine, as uname -m says it
  uint64_t open_files_max = 0;  ///< that tasks of this machine shall have
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  uint64_t noise = 0;  ///< pauses between tries depend on it and on the host
  /// Reaches any host by another way than ours; may be empty.
  std::function<Result<SpawnedProcess>(const Host&)> other;
  RemoteHosts* remote = nullptr;  ///< what leads to other hosts; set by whoever owns it
};

/// One agent and the way to it: gets it to speak frames, and knows why it is gone.
///
///   starting ─── magic line ───▶ speaking ───▶ gone
///      └──────────────────────────────────────↗  its way ended, or it was lost or let go
class AgentLink {
 public:
  struct Handlers {
    /// An error is the agent's: it is lost.
    std::function<Result<>(const FrameView& message)> on_message;
    /// Once, unless it was let go; why() tells.
    std::function<void()> on_gone;
  };
  /// `ways` outlives this.
  AgentLink(Loop& loop, Host host, const ConnectOptions& ways, Handlers handlers);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  /// When it fails there is no way: it can only be lost, let go or destroyed.
  Result<> start();
  void write(ByteSpan frames);
  /// From now on it counts as gone, for this reason.
  void lose(std::string why);
  /// Its end is expected, and nobody is told: its input ends once all is sent.
  void let_go();
  /// Nothing is left of its way.
  bool over() const { return !connection_ || connection_->over(); }
  /// Whether this child of ours carries its bytes; only the link collects its status.
  bool owns(pid_t pid) const { return connection_ && connection_->owns(pid); }
  /// Ends what is left of it on this machine.
  void kill();

  const Host& host() const { return host_; }
  bool gone() const { return gone_; }
  /// It has spoken, and is not gone.
  bool speaking() const { return !starting_ && !gone_; }
  const std::string& why() const { return why_; }
  /// Through what its host was reached and with which key, in words.
  std::string login() const { return connection_ ? connection_->login() : ""; }
  /// Whether the host had to be sent the executable.
  bool pushed() const { return pushed_; }
  Lease& lease() { return lease_; }

 private:
  AgentConnection::Handlers connection_handlers();
  Result<std::unique_ptr<AgentConnection>> open_connection();
  size_t receive(ByteSpan bytes);
  size_t receive_start(ByteSpan bytes);
  size_t receive_frames(ByteSpan bytes);
  void push_some();
  void connection_ended(const AgentConnection::End& end);
  std::string why_not_started(const AgentConnection::End& end);
  /// Whether its keeper has said how it ended.
  void look_for_end(std::string_view said);

  Loop& loop_;
  Host host_;
  const ConnectOptions& connect_options_;
  Handlers handlers_;
  std::unique_ptr<AgentConnection> connection_;  ///< null until it has been started
  std::optional<AgentStart> starting_;
  ByteSpan unpushed_;  ///< what the host still has to get of the executable
  MessageAssembler assembler_;
  Lease lease_;
  CachedExecutable cached_executable_ = CachedExecutable::trust;
  Bytes early_;  ///< frames for an agent that does not speak yet
  bool pushed_ = false;
  bool gone_ = false;
  std::string why_;
};

}  // namespace dt
