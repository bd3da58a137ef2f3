#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_connection.h"
#include "launcher/connect/dialed_connection.h"
#include "launcher/connect/node_places.h"
#include "launcher/connect/process_connection.h"
#include "launcher/connect/spawned_process.h"
#include "launcher/network/dial_order.h"
#include "rendezvous/secure/acceptor.h"

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The agents of all other hosts, or of all hosts, which connect to this process. Either one
/// program starts them (srun), whose pipes carry no frames: they need the program's input once, and
/// outlive its end. Or each is a node of the job, which its own user or cluster has started.
///
///   expect() each host ─▶ start(): listen, run the program ─▶ agents connect ─▶ port closed
///                                                        │                ▲
///                            hosts without executable ───┴─▶ run it again ┘
///
/// The program prints the names of hosts that have no executable. When all others have connected or
/// failed, it runs once more, and copies the executable to these hosts first.
/// The port is open until no agent is awaited any more, and for nodes as long as the job. A
/// connection must come to one of the addresses, and prove the token, which the program's input has
/// or the nodes know. A second agent of a host is refused by name. A node stays connected when its
/// agent has ended, until dismiss().
class DialedHosts {
 public:
  /// Where the agents find this process.
  struct Where {
    std::vector<std::string> ips;  ///< of this machine, as the hosts may reach it; empty: any
    uint16_t port = 0;             ///< to listen at; 0: any
  };
  /// The remedies for faults of a start.
  struct NodeAdvice {
    std::string absent;      ///< if a node does not connect in time
    std::string port_taken;  ///< if another process listens at the port
  };
  /// The facts that nodes know of each other before they connect.
  struct Nodes {
    Token token;
    std::string job;          ///< the name that all of them have for it
    NodeIntro own;            ///< of node 0
    bool may_return = false;  ///< one that was lost may come again
    /// Hosts keep the names "node 1" and so on: the job takes the nodes that come, and others
    /// later.
    bool anonymous = false;
    int least = 0;  ///< with so many, node 0 included, the others are awaited for 30 s more
    NodeAdvice advice = {};
  };
  struct Options {
    std::string program;  ///< its name, for messages
    /// Starts the program, which runs `dtrain agent dial VARIABLE` on each of these hosts.
    std::function<Result<SpawnedProcess>(const std::vector<std::string>& hosts)> start;
    /// The same, but copies the executable to these hosts first. Called if the program of `start`
    /// prints hosts. `beside`: that program is still needed by other hosts.
    std::function<Result<SpawnedProcess>(const std::vector<std::string>& hosts, bool beside)>
        start_copies = {};
    /// Returns where to listen; called if a host is not this machine.
    std::function<Result<Where>()> where;
    /// How long agents try to connect. The wait for them ends a little earlier, with the reasons.
    Duration patience = seconds(60);
    Duration dead_after = seconds(5);
    /// Returns what a user can do about the program's messages; empty: nothing known.
    std::function<std::string(std::string_view stderr_text)> remedy = {};
    bool starts_all = false;          ///< the agent of this machine is started so, too
    std::optional<Nodes> nodes = {};  ///< none: the program starts the agents
  };
  static Result<std::unique_ptr<DialedHosts>> create(Loop& loop, Log& log, Options options);
  DialedHosts(const DialedHosts&) = delete;
  DialedHosts& operator=(const DialedHosts&) = delete;

  /// Returns the connection to the agent of a host; this object outlives it. Called before start(),
  /// and later for a node that may return.
  std::unique_ptr<AgentConnection> expect(const Host& host, AgentConnection::Handlers handlers);
  Result<> start();
  /// True for a host whose agent the program starts.
  bool starts(const Host& host) const { return !host.here || options_.starts_all; }
  /// Adds a connection that another process has accepted. Requires that agents are awaited.
  void adopt(Fd connection) { acceptor_->add(std::move(connection), {}); }
  /// The port at which it listens. Requires start().
  uint16_t port() const { return where_.port; }
  /// True while an agent may connect, or a node is refused.
  bool listening() const { return acceptor_ != nullptr; }
  /// True for a host whose agent may connect again after its loss.
  bool returns(const Host& host) const { return starts(host) && listening() && may_return(); }
  /// True from start() until each node has come, or is awaited no longer.
  bool awaits_nodes() const { return awaits_nodes_; }
  /// True where the agents are those of nodes.
  bool has_nodes() const { return places_.has_value(); }
  /// Notes what the node of this host is. Returns the host's name from now on. A node that does not
  /// fit this job keeps it from starting: see refusal(). The host of no node keeps its name.
  std::string introduced(const std::string& host, const NodeIntro& intro);
  /// Why the nodes do not make one job, if they do not.
  const std::optional<Error>& refusal() const { return refusal_; }
  /// Returns the names of the hosts, in the order of expect(). Nodes without rank have the order of
  /// their introductions, or else that of their addresses.
  std::vector<std::string> names(bool without_rank = false) const;
  /// Tells all nodes that the job is over, and waits until they have closed their connections, up
  /// to 5 s.
  Result<> dismiss(const Dismissed& message);

  /// True for the program's process; only this object may reap it.
  bool owns(pid_t pid) const { return first_.owns(pid) || copying_.owns(pid); }
  /// True when the program has ended.
  bool ended() const { return first_.ended() && copying_.ended(); }
  void kill();

 private:
  struct Expected {
    std::string host;
    std::string ip = {};                     ///< from which its agent has connected
    int order = -1;                          ///< of its node; -1: its address decides
    DialedConnection* connection = nullptr;  ///< null: destroyed
    int64_t pid = 0;                         ///< of the agent that has connected
    bool lacking = false;                    ///< it has no executable
    bool awaited() const { return connection != nullptr && connection->awaited(); }
  };
  /// A process that was refused, and would be again. Agents may come by two addresses at once, so
  /// that `ip` is empty for them; nodes in pods may all have the process 1.
  struct Refused {
    size_t index = 0;
    std::string ip = {};
    int64_t pid = 0;
    auto operator<=>(const Refused&) const = default;
  };
  /// A run of the program. It is responsible for the hosts whose `lacking` is `copies`.
  struct Run {
    bool copies = false;
    std::unique_ptr<ProcessConnection> process = {};
    bool over = false;
    Timer orphans = {};  ///< after the program was killed
    bool owns(pid_t pid) const { return process && process->owns(pid); }
    bool ended() const { return !process || process->ended(); }
  };
  DialedHosts(Loop& loop, Log& log, Options options, DialOrder order);
  Result<> listen();
  Result<> open(Run& run, Result<SpawnedProcess> started);
  void proved(Fd connection, Handshake handshake);
  Result<Expected*> find_awaited(const Fd& connection, const Handshake& handshake);
  Result<Expected*> find_place(const TaskId& node);
  void await_rest();
  bool may_return() const { return options_.nodes && options_.nodes->may_return; }
  void refuse(Fd connection, Handshake handshake, const Error& why);
  bool is_new(const Refused& peer);
  void settle();
  /// A line of the program that begins with a host has the reason why no agent comes from there.
  void read_failures(std::string_view stderr_text);
  /// A line of its output is a host without the executable.
  size_t read_lacking(std::string_view output);
  void copy_when_known();
  std::string shown(const std::string& stderr_text) const;
  void program_ended(Run& run, const AgentConnection::CloseReason& reason);
  void give_up(bool lacking, const std::string& why);
  void time_over();

  Loop& loop_;
  Log& log_;
  Options options_;
  DialOrder order_;
  Where where_;
  std::vector<Expected> expected_;
  std::unique_ptr<Acceptor> acceptor_;  ///< null: nobody is awaited
  std::optional<NodePlaces> places_;    ///< none: a program starts the agents
  std::optional<Error> refusal_;
  std::set<Refused> refused_;  ///< each is reported once
  Run first_;
  Run copying_ = {.copies = true};
  bool awaits_nodes_ = false;
  Time give_up_at_;
  Timer give_up_timer_;
};

}  // namespace dt
