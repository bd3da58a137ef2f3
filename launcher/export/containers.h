#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/plan/plan.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A task whose host is a container of its own.
struct Container {
  std::string name;  ///< by which other tasks reach it
  Task task;
  std::vector<std::string> command;
  /// None: the value that the variable has where the containers are started.
  std::map<std::string, std::optional<std::string>> environment;
  std::string image;  ///< empty: none
};

/// The containers of a job, in the order of its ranks.
struct Containers {
  Plan plan;  ///< each task on a host of its own
  std::vector<Container> all;
  std::vector<std::string> warnings = {};
};

/// The ports of tasks. Each container has addresses of its own, so that all tasks use the same.
inline constexpr uint16_t container_task_port = 2222;
inline constexpr uint16_t container_master_port = 29500;
inline constexpr uint16_t container_jax_port = 29501;

/// Where the code lies in containers, unless --sync-to names an absolute path.
std::string code_target(const RunConfig& config);
/// Returns the working folder of containers; empty: that of the image.
std::string working_folder(const ExportJob& job);

/// The variables that the user sets for the tasks of a role, and those that are only passed on.
struct UserVariables {
  Environment values;
  std::vector<std::string> passed;
};
UserVariables user_variables(const RunConfig& config, const Role& role);

/// Returns the name by which other tasks reach a container.
using ContainerNaming = std::function<std::string(const TaskId& id)>;
/// Returns "worker-0".
std::string container_name(const TaskId& id);

/// Fails with Errc::input for options about tasks that the job does not have, and for a strategy
/// that its tasks cannot have. Requires a known number of tasks.
Result<> check_tasks(const ExportJob& job);

/// Makes a container for each task, with the variables by which tasks find each other. They have no
/// rendezvous, so those of libdtrain and Horovod are left out. Fails with Errc::input where the
/// number of tasks is unknown, for options that name tasks which the job does not have, and for
/// names that no host may have.
Result<Containers> containers_of(const ExportJob& job,
                                 const ContainerNaming& name_of = container_name);

}  // namespace dt
