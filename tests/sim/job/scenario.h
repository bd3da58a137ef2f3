#pragma once

#include "launcher/config/config.h"
#include "tests/sim/job/simulated_host.h"
#include "tests/sim/job/simulated_starter.h"
#include "tests/sim/random.h"

#include <optional>
#include <vector>

namespace dt {

/// How far a job has come. A trouble begins some time after one of these.
enum class Phase : uint8_t {
  connecting,
  greeted,
  prepared,
  launched,
  started,
  joined,
  ending,
  restarting
};
inline constexpr int phases = 8;

/// Something that disturbs a job from outside.
struct Trouble {
  enum class Kind : uint8_t {
    signal,  ///< to dtrain, meaning stop
    pause,   ///< Ctrl-Z, and later a SIGCONT
    freeze,  ///< SIGSTOP of dtrain alone
    agent_killed,
    host_cut,  ///< and never mended
    outage,    ///< shorter than the lease
    slow_host,
    slip,            ///< by an agent
    second_claim,    ///< to be a task, by a peer that has the token
    stranger,        ///< dials the rendezvous
    scheduler_stop,  ///< SIGTERM to an agent and its tasks
  };
  Kind kind = Kind::signal;
  Phase phase = Phase::connecting;
  Duration delay = {};  ///< after that phase was reached
  size_t host = 0;
  int signal = 0;
  Duration lasts = {};
  Slip slip = Slip::garbage;
};

/// All that a seed determines before the run.
struct Scenario {
  RunConfig config;
  /// The fates of config.hosts, then of the spares, then of `later`.
  std::vector<HostFate> hosts;
  std::vector<Host> later;  ///< hosts that only later readings of the source name
  /// The readings of the hosts' source: which of all hosts it names, or none where it fails. The
  /// last one counts for all further readings; empty: the hosts do not change.
  std::vector<std::optional<std::vector<Host>>> readings;
  std::vector<Trouble> troubles;
  bool resources = false;  ///< agents report them before there is a plan
  bool dialed = false;     ///< one program starts all agents, which dial
  StarterFate starter = StarterFate::stays;
  double bytes_per_second = 125e6;  ///< of the launcher's machine
  /// True when nothing but a time limit ends the job early, and all hosts can be reached.
  bool undisturbed() const;
};

/// 1 to 8 hosts and some troubles; one scenario in five has none.
Scenario random_scenario(Random& random);
/// Lets one program start all agents, which dial. Its scheduler may end the job.
void make_dialed(Random& random, Scenario& scenario);
/// Many hosts without troubles, each with so many tasks, and with random latencies.
Scenario large_scenario(Random& random, size_t hosts, size_t tasks_per_host);

}  // namespace dt
