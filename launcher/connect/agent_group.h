#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/connect/agent_link.h"
#include "launcher/network/relay.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/diagnose_messages.h"
#include "launcher/protocol/host_resources.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The answer of each agent, by its number, or why it did not answer.
template <class Answer>
using Responses = std::vector<Result<Answer>>;

/// A lost agent has ended or does not answer any more.
enum class AgentState : uint8_t { connecting, connected, lost };

/// The facts that an agent has found about its host, and how far its clock is off.
struct Diagnosis {
  DiagnoseReply found;
  ClockSkew clock;
};

/// How an agent was reached.
struct Connection {
  std::string login;    ///< how and with which key; empty for an agent of this machine
  bool pushed = false;  ///< the executable was sent to the host
  Duration took{};      ///< from connect() to the hello
};

/// The agents of a job, one a host, each over one link. Numbers the agents in the order of their
/// hosts, keeps their leases, and forwards their messages.
///
/// A job needs all of its agents but those of spares. A call that waits for them fails as a whole,
/// with one line for each missing agent; the answer of a missing spare is empty. `dtrain check` can
/// do without some. Calls that return Responses fail only when they are interrupted
/// (Errc::interrupted) or the loop fails.
class AgentGroup {
 public:
  struct Options {
    Duration heartbeat = seconds(1);
    Duration dead_after = seconds(5);
    Duration local_dead_after = seconds(60);  ///< for the agent of this machine
    LoginOptions ssh;
    std::optional<DialedHosts::Options> dialed;     ///< how agents are started instead of by SSH
    bool scheduled = false;                         ///< this machine's agent, as in AgentPlace
    Log* log = nullptr;                             ///< outlives the group; null: nothing is logged
    std::optional<ConnectOptions> connect_options;  ///< none: the defaults of this machine
    /// Called at the start and after each hello; may be empty.
    std::function<void(size_t connected, size_t all)> on_connected;
    bool names_missing = false;  ///< log the hosts that have not connected after 5 s, once
  };
  struct Handlers {
    /// Called with each message that is not an answer to a call below. When it fails, the agent
    /// counts as lost.
    std::function<Result<>(size_t agent, const FrameView& message)> on_message;
    /// Called once for each agent that is lost before close().
    std::function<void(size_t agent, const std::string& why)> on_lost;
  };
  AgentGroup(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  AgentGroup(const AgentGroup&) = delete;
  AgentGroup& operator=(const AgentGroup&) = delete;
  ~AgentGroup();

  /// Starts an agent on each host, all at once; returns before they answer. The last `spares` hosts
  /// are spares. If `need` is not nothing, an agent counts as connected when it has reported the
  /// resources of its host.
  Result<> connect(const std::vector<Host>& hosts, size_t spares = 0,
                   ResourceNeed need = ResourceNeed::nothing);
  /// Starts an agent on one more host, a spare with the next number. Requires can_add().
  Result<> add(const Host& host, ResourceNeed need = ResourceNeed::nothing);
  /// False for a host whose agent can be started only together with all others.
  bool can_add(const Host& host) const {
    return !dialed_ || !dialed_->starts(host) || dialed_->returns(host);
  }
  /// Starts the agent of a host anew, which is lost, under its number. It reports the resources
  /// that the agent before was asked for. Requires can_add().
  Result<> reconnect(size_t agent);
  /// How long a call waits for answers.
  struct Awaited {
    Time deadline;
    std::function<bool()> interrupted;  ///< called in each round; true ends the wait
  };
  /// Waits until each agent has sent its hello.
  Result<std::vector<Hello>> await_hellos(const Awaited& awaited);
  Result<Responses<Hello>> await_each_hello(const Awaited& awaited);
  /// Returns the hello of each agent. Complete once the agents have answered anything at all.
  std::vector<Hello> hellos() const;
  /// Waits for the hellos, asks each agent for the resources of its host, and waits for the
  /// answers. Returns an empty list if `need` is nothing.
  Result<std::vector<HostResources>> resources(ResourceNeed need, const Awaited& awaited);
  /// Returns the resources that each agent has reported; empty ones where none were asked for.
  std::vector<HostResources> known_resources() const;
  /// Closes the agents of other hosts than the plan's, and numbers the rest as the plan does. Hosts
  /// without tasks are spares.
  void retain(const Plan& plan);
  /// Sends each agent its prepare and waits for the answers; leases begin. Again for each
  /// generation, when the agents have finished the last one and stay.
  Result<std::vector<Prepared>> prepare(const std::vector<Prepare>& wanted, const Awaited& awaited);
  /// Sends each agent its probe and waits for the answers.
  Result<std::vector<Reached>> probe(const std::vector<Probe>& wanted, const Awaited& awaited);
  Result<Responses<Reached>> probe_each(const std::vector<Probe>& wanted, const Awaited& awaited);

  /// Has each agent examine its host; leases begin.
  Result<Responses<Diagnosis>> diagnose_each(const std::vector<DiagnoseRequest>& wanted,
                                             const Awaited& awaited);
  /// Has the agents with an order measure. The answers of the others mean nothing.
  Result<Responses<Measured>> measure_each(const std::vector<std::optional<Measure>>& wanted,
                                           const Awaited& awaited);
  Connection connection(size_t agent) const;
  /// Starts the sync process on an agent's host, and returns our end of a connection to it. None if
  /// the agent has one already. The loss of the agent ends the connection.
  Result<std::optional<Fd>> connect_sync(size_t agent);

  /// Messages and losses from now on go to these handlers.
  void set_handlers(Handlers handlers) { handlers_ = std::move(handlers); }
  void send(size_t agent, MessageType type, uint32_t stream, ByteSpan payload);
  void send_all(MessageType type, ByteSpan payload);
  /// Restarts all leases: the silence until now, on either side, was intended (a pause).
  void restart_leases();
  /// Returns the state of each agent, by its number.
  std::vector<AgentState> states() const;
  /// Why the agent is lost.
  const std::string& why_lost(size_t agent) const { return agents_[agent]->link->why(); }
  /// Closes the link of an agent that has finished; on_lost is not called for it.
  void close(size_t agent);
  /// Closes all agents and waits until their processes have ended; kills those that run longer. An
  /// interruption ends the wait and is no error.
  Result<> wait_for_exit(const Awaited& awaited);
  /// True for a child process that is an agent or connects to one; only the group may reap it.
  bool owns(pid_t pid) const;
  /// Null when no agent connects by itself.
  DialedHosts* dialed_hosts() const { return dialed_.get(); }

 private:
  struct Agent {
    size_t number = 0;
    bool spare = false;
    bool leased = false;  ///< it knows the lease's terms: from now on silence ends it
    std::unique_ptr<AgentLink> link;
    std::optional<Hello> hello;
    Time hello_at;
    ResourceNeed need = ResourceNeed::nothing;
    std::optional<HostResources> resources;
    std::optional<Prepared> prepared;
    std::optional<Reached> reached;
    int64_t asked_ns = 0;  ///< when diagnose was sent, by the launcher's wall clock
    std::optional<Diagnosis> examined;
    std::optional<Measured> measured;
    std::unique_ptr<Relay> sync;  ///< null: no connection to its sync process
  };
  /// Starts the agent of a host.
  Result<std::unique_ptr<Agent>> start(const Host& host);
  /// Opens what the connections to other hosts share.
  Result<> open_shared(const std::vector<Host>& hosts);
  Result<> handle(Agent& agent, const FrameView& message);
  void ask_resources(const Agent& agent, Duration patience);
  void report_connected() const;
  void report_missing();
  void report_lost(Agent& agent);
  void beat();
  /// Waits until each agent has this answer or is lost. `what` names it in the error.
  template <class Answer>
  Result<Responses<Answer>> await_each(const Awaited& awaited, std::optional<Answer> Agent::*answer,
                                       std::string_view what);
  /// Returns all answers, or one error that lists all failures.
  template <class Answer>
  Result<std::vector<Answer>> all_of(Responses<Answer> answers, std::string_view what) const;

  Loop& loop_;
  Options options_;
  Log nobody_{Log::Level::quiet, [](std::string_view) {}};
  Log& log_{options_.log == nullptr ? nobody_ : *options_.log};
  ConnectOptions connect_options_;
  std::unique_ptr<RemoteHosts> remote_;  ///< null: all agents are on this machine, or dial
  std::unique_ptr<DialedHosts> dialed_;  ///< null: no agent dials
  Handlers handlers_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<std::unique_ptr<Agent>> unneeded_;  ///< closed; the group still reaps their processes
  uint32_t generation_ = 0;
  Time began_;
  Time beat_at_ = Time::max();
  Timer heartbeat_;
  Timer missing_;
};

}  // namespace dt
