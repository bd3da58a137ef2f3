#pragma once

#include "base/loop.h"
#include "base/result.h"
#include "base/stream.h"
#include "launcher/agent_start.h"
#include "launcher/carrier.h"
#include "launcher/lease.h"
#include "launcher/message.h"
#include "launcher/ssh/login_options.h"
#include "launcher/ssh/openssh.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// How agents are reached; the same for all hosts of a job.
struct AgentWays {
  LoginOptions ssh;
  AgentBinary binary;           ///< for hosts that do not have it; empty without remote hosts
  std::string architecture;     ///< of this machine, as uname -m says it
  uint64_t open_files_max = 0;  ///< that tasks of this machine shall have
  Duration dead_after = seconds(5);
  uint64_t noise = 0;  ///< pauses between tries depend on it and on the host
  /// Reaches an agent by another way than ours; may be empty.
  std::function<Result<Carrier>(const Host&)> other;
};

/// One agent and the way to it: starts it, again where that may help, gets it to speak frames, and
/// knows why it is gone.
///
///   starting ─── magic line ───▶ speaking ───▶ gone
///     ▲   │ its way ended                        ▲
///     │   ▼                                      │
///   refused, reset: a pause, then again ── or not, or too late
class AgentLink {
 public:
  struct Handlers {
    /// An error is the agent's: it is lost.
    std::function<Result<>(const FrameView& message)> on_message;
    /// Once, unless it was let go; why() tells.
    std::function<void()> on_gone;
  };
  /// `ways` outlives this.
  AgentLink(Loop& loop, Host host, const AgentWays& ways, Handlers handlers);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  Result<> start();
  void write(ByteSpan frames);
  /// From now on it counts as gone, for this reason.
  void lose(std::string why);
  /// Its end is expected, and nobody is told: its input ends once all is sent.
  void let_go();
  /// Waits for its process; one that stays longer is killed.
  void collect(Time deadline);

  const Host& host() const { return host_; }
  bool gone() const { return gone_; }
  /// It has spoken, and is not gone.
  bool speaking() const { return !starting_ && !gone_; }
  const std::string& why() const { return why_; }
  /// The end of what the client that reaches the host has said.
  const std::string& said() const { return said_; }
  /// Whether the host had to be sent the executable.
  bool pushed() const { return pushed_; }
  Lease& lease() { return lease_; }

 private:
  Result<Carrier> start_carrier() const;
  size_t receive(ByteSpan bytes);
  size_t receive_start(ByteSpan bytes);
  void read_messages();
  void way_ended();
  void process_ended();
  std::string end_of_speaking(const std::optional<ExitStatus>& status) const;
  void no_answer();
  bool try_again(const ClientFailure& failure);
  void start_again(Time when);

  Loop& loop_;
  Host host_;
  const AgentWays& ways_;
  Handlers handlers_;
  std::unique_ptr<Stream> stream_;
  std::optional<Child> process_;
  Watch exit_watch_;
  Timer patience_;
  Fd messages_;
  Watch messages_watch_;  // after its descriptor: destroyed before that is closed
  std::string said_;      ///< the end of what the client wrote to its stderr
  std::optional<AgentStart> starting_;
  MessageAssembler assembler_;
  Time connect_deadline_;
  Timer again_;
  Timer give_up_;
  int attempt_ = 0;
  KeptExecutable kept_executable_ = KeptExecutable::trust;
  Lease lease_;
  Bytes early_;  ///< frames for an agent that does not speak yet
  bool pushed_ = false;
  bool gone_ = false;
  std::string why_;
};

}  // namespace dt
