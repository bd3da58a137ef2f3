#pragma once

#include "base/crypto.h"
#include "base/io/socket.h"
#include "launcher/config/config.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/console/runtime.h"
#include "launcher/environment/environment.h"
#include "launcher/job/reach.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "launcher/report/outcome.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/address_set.h"
#include "rendezvous/store/server.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The tasks as the rendezvous tells them to each other, at the addresses that were found.
TaskTable task_table(const Plan& plan, std::string job, const Reach& reach);

/// Where the rendezvous listens: on this address of ours, at this port; none: any. And from where
/// Horovod's workers dial it; none: they are not answered.
struct ListenOptions {
  std::string ip;
  std::optional<HeldPort> port = {};
  std::optional<AddressSet> horovod_sources = {};
};
/// From where Horovod's workers are to be answered, who can prove nothing; none where the user does
/// not want it, and in a part of a job, whose tasks are told no rendezvous.
std::optional<AddressSet> horovod_sources(const RunConfig& config, const Plan& plan,
                                          const Reach& reach, const std::vector<Hello>& hellos);
/// Holds the first free port of --port-range, before agents of this machine take theirs.
/// Errc::refused when all are busy.
Result<std::optional<HeldPort>> hold_rendezvous_port(const RunConfig& config);

/// What tasks are told of it.
struct RendezvousFacts {
  Address address;
  Token token = {};
  bool horovod = false;  ///< it answers Horovod's workers, too
};
/// The rendezvous of the job, and its place.
struct Rendezvous {
  std::unique_ptr<RendezvousServer> server;
  ListenOptions place;
  RendezvousFacts facts;
};
/// Errc::refused when it cannot listen.
Result<Rendezvous> listen_for(Runtime& stage, const RunConfig& config, const TaskTable& table,
                              const Token& token, ListenOptions place);

/// Errc::input when this process may not open as many files as the job will need here.
Result<> check_launcher_files(const RunConfig& config, const Plan& plan);

/// What each agent must be able to do before anything starts: run the command in the folder, and
/// hold the ports that its tasks will be told: one a task for the ClusterSpec, that of its address
/// where it was given one, and two more on rank 0's host, unless that is not ours.
std::vector<Prepare> prepare_orders(const RunConfig& config, const Plan& plan,
                                    const std::string& job, const Token& token,
                                    const Environment& forwarded);

/// Why nothing can be started, each cause once with its hosts; none when all can.
std::optional<Outcome> preparation_failure(const Plan& plan, const std::vector<Prepare>& orders,
                                           const std::vector<Prepared>& prepared);

/// A warning when hosts lack the folder that nobody asked for.
std::vector<std::string> cwd_fallback_warnings(const Plan& plan, const std::vector<Prepare>& orders,
                                               const std::vector<Prepared>& prepared);

/// Hands out the held ports: the ClusterSpec, MASTER_PORT and JAX's port. Of a cluster that others
/// start parts of it tells no rendezvous, and rank 0's own address for MASTER_PORT and JAX.
JobFacts job_facts(const RunConfig& config, const Plan& plan, const TaskTable& table,
                   const RendezvousFacts& rendezvous, const std::vector<Prepared>& prepared);

}  // namespace dt
