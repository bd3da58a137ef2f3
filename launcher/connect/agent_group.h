#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/connect/agent_link.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/diagnose_messages.h"
#include "launcher/protocol/host_resources.h"
#include "launcher/protocol/message.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Of each agent, by its number, what it answered or why it did not.
template <class Answer>
using Responses = std::vector<Result<Answer>>;

/// What an agent has found out, and how far its clock is off.
struct Diagnosis {
  DiagnoseReply found;
  ClockSkew clock;
};

/// How an agent was reached.
struct Connection {
  std::string login;    ///< through what and with which key; empty for this machine
  bool pushed = false;  ///< the host had to be sent the executable
  Duration took{};      ///< until its hello
};

/// The agents of a job, one a host, each over one link. Numbers them in the order of their hosts,
/// keeps their leases, and hands out what they say.
///
/// A job needs all of its agents, so what waits for them fails as a whole, with one line for each
/// that is missing. Whoever can go on without some asks for Responses instead, which fails only
/// when it is interrupted.
class AgentGroup {
 public:
  struct Options {
    Duration heartbeat = seconds(1);
    Duration dead_after = seconds(5);
    LoginOptions ssh;
    Log* log = nullptr;  ///< outlives the crew; null: what is worth telling is told to nobody
    std::optional<ConnectOptions> ways;  ///< none: those that this machine has
    /// Told at the start and with each hello; may be empty.
    std::function<void(size_t connected, size_t all)> on_connected;
  };
  struct Handlers {
    /// An error is the agent's: it is lost.
    std::function<Result<>(size_t agent, const FrameView& message)> on_message;
    /// Called once for each agent that is gone before it was let go.
    std::function<void(size_t agent, const std::string& why)> on_lost;
  };
  AgentGroup(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  AgentGroup(const AgentGroup&) = delete;
  AgentGroup& operator=(const AgentGroup&) = delete;
  ~AgentGroup();

  /// Starts an agent on each host, all at once; answers come later.
  Result<> connect(const std::vector<Host>& hosts);
  /// How long answers are waited for.
  struct Awaited {
    Time deadline;
    std::function<bool()> interrupted;  ///< asked on the way
  };
  /// Waits until each has said hello.
  Result<std::vector<Hello>> await_hellos(const Awaited& awaited);
  Result<Responses<Hello>> await_each_hello(const Awaited& awaited);
  /// What each has said; all have, once they have answered anything.
  std::vector<Hello> hellos() const;
  /// Asks each what its host has, once it has said hello, and waits for all answers; there are none
  /// where nothing is needed.
  Result<std::vector<HostResources>> resources(ResourceNeed need, const Awaited& awaited);
  /// Lets those go for whom the plan has no task; the others are numbered as it numbers them.
  void keep(const Plan& plan);
  /// Sends each its prepare and waits for all answers.
  Result<std::vector<Prepared>> prepare(const std::vector<Prepare>& wanted, const Awaited& awaited);
  /// Sends each its probe and waits for all answers.
  Result<std::vector<Reached>> probe(const std::vector<Probe>& wanted, const Awaited& awaited);
  Result<Responses<Reached>> probe_each(const std::vector<Probe>& wanted, const Awaited& awaited);

  /// Has each look at its host; heartbeats begin.
  Result<Responses<Diagnosis>> diagnose_each(const std::vector<DiagnoseRequest>& wanted,
                                             const Awaited& awaited);
  /// Has those measure for whom there is an order; the answer of others means nothing.
  Result<Responses<Measured>> measure_each(const std::vector<std::optional<Measure>>& wanted,
                                           const Awaited& awaited);
  Connection connection(size_t agent) const;

  /// From now on what agents say goes to the handlers.
  void hand_over(Handlers handlers) { handlers_ = std::move(handlers); }
  void send(size_t agent, MessageType type, uint32_t stream, ByteSpan payload);
  void send_all(MessageType type, ByteSpan payload);
  /// The silence until now, on either side, was agreed.
  void restart_leases();
  /// The agent has finished: its end is expected, and nobody is told.
  void let_go(size_t agent);
  /// Lets all agents go and waits for their processes; those that stay longer are killed. An
  /// interruption ends the wait and is no error.
  Result<> collect(const Awaited& awaited);
  /// Whether this child of ours is an agent's or leads to one; only the crew collects its status.
  bool owns(pid_t pid) const;
  size_t size() const { return agents_.size(); }

 private:
  struct Agent {
    size_t number = 0;
    std::unique_ptr<AgentLink> link;
    std::optional<Hello> hello;
    Time said_hello;
    std::optional<HostResources> resources;
    std::optional<Prepared> prepared;
    std::optional<Reached> reached;
    int64_t asked_ns = 0;  ///< by our wall clock
    std::optional<Diagnosis> examined;
    std::optional<Measured> measured;
  };
  Result<ConnectOptions> own_connect_options(const std::vector<Host>& hosts) const;
  Result<> open_remote_hosts();
  Result<> handle(Agent& agent, const FrameView& message);
  void tell_connected() const;
  void gone(const Agent& agent);
  void beat();
  bool any_left() const;
  /// Waits until each agent is gone or has this answer.
  template <class Answer>
  Result<Responses<Answer>> await_each(const Awaited& awaited, std::optional<Answer> Agent::*answer,
                                       std::string_view what);
  /// All answers, or all failures together.
  template <class Answer>
  Result<std::vector<Answer>> all_of(Responses<Answer> answers, std::string_view what) const;

  Loop& loop_;
  Options options_;
  Log nobody_{Log::Level::quiet, [](std::string_view) {}};
  ConnectOptions connect_options_;
  std::unique_ptr<RemoteHosts> remote_;  ///< null: all agents are on this machine
  Handlers handlers_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<std::unique_ptr<Agent>> unneeded_;  ///< let go; their processes are still ours
  uint32_t generation_ = 0;
  Time began_;
  bool leased_ = false;  ///< agents know the terms, and their silence counts
  Timer heartbeat_;
};

}  // namespace dt
