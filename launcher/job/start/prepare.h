#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "launcher/report/outcome.h"
#include "rendezvous/secure/handshake.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the folder in which the tasks start: that of --chdir, or the current one.
std::string folder_of_tasks(const RunConfig& config);

/// Returns the PATH in which the command of a role's tasks is looked up.
std::string path_of_tasks(const Environment& forwarded, const Role& role);

/// Fails with Errc::input when this process may not open as many files as the job needs here.
Result<> check_launcher_files(const RunConfig& config, const Plan& plan);

/// The orders for agents, by number, before any task of a generation starts. `generation` has the
/// token, the job and the number; `probe`: the agents will be probed. Agents check that the command
/// can run in the folder, and hold ports. A task has one port for the ClusterSpec, or the port of
/// the address that the user gave. Rank 0's host holds two more, unless others start some tasks.
std::vector<Prepare> prepare_orders(const RunConfig& config, const Plan& plan,
                                    const Claim& generation, const Environment& forwarded,
                                    bool probe = false);

/// Why no task can start: each cause once, with its hosts. None when all agents of hosts with tasks
/// are prepared.
std::optional<Outcome> preparation_failure(const Plan& plan, const std::vector<Prepare>& orders,
                                           const std::vector<Prepared>& prepared);

/// Returns a line to add to a failure: the advice of --sync. That is for a failure of another host,
/// which lacks a command's file that this machine has in the folder of the tasks; else it is empty.
std::string sync_advice(const Plan& plan, const std::vector<Prepare>& orders,
                        const std::vector<Prepared>& prepared);

/// A warning when hosts lack the current folder and the user did not ask for one with --chdir.
std::vector<std::string> cwd_fallback_warnings(const Plan& plan, const std::vector<Prepare>& orders,
                                               const std::vector<Prepared>& prepared);

}  // namespace dt
