#pragma once

#include "base/environment.h"
#include "launcher/config/config.h"
#include "launcher/plan/job_shape.h"
#include "launcher/plan/plan.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What is the same for all tasks of a job.
struct JobFacts {
  std::string job;
  uint32_t generation = 0;
  std::string token;           ///< 64 hex digits
  std::string rendezvous;      ///< host:port; empty: none that all tasks could use
  std::string master_address;  ///< of rank 0's host, as its peers reach it; empty: no ranks
  uint16_t master_port = 0;
  uint16_t jax_port = 0;   ///< of rank 0's host
  bool horovod = false;    ///< the rendezvous answers Horovod's workers, too
  bool own_ports = false;  ///< libdtrain listens at the task's port alone (--port-range)
  ClusterSpec cluster;
  EnvSets env_sets = default_env_sets();
  JobShape shape;
  bool own_gpu = false;  ///< each task sees one GPU alone, so that all call theirs 0
};

/// The part of a task's environment that only its host knows.
struct HostFacts {
  Environment own;  ///< its part of the agent's environment: HOME, USER, …, from host_part()
  std::string hostname;
  std::string interface;     ///< by which other hosts reach this one; empty: unknown
  bool accelerator = false;  ///< it has a device of some maker that can train
};

/// The CPUs that a task may use, and how many tasks they are for.
struct CpuShare {
  int cpus = 1;
  int tasks = 1;
};

/// What travels from the launcher: its environment without what stays behind (a host's own part and
/// what names a place in an outer job, launcher/environment/variable_names.h, the defaults that an
/// outer dtrain noted, and what fits a pattern of `excluded`), then the settings of -x and
/// --env-file, which bring anything past these lists. A setting without value of a variable that is
/// not set is an error.
Result<Environment> forwarded_environment(const Environment& launcher,
                                          const std::vector<EnvironmentSetting>& settings,
                                          const std::vector<std::string>& excluded = {});
/// What stays on its host of an agent's environment, but for what fits a pattern of `excluded`.
Environment host_environment(Environment agent, const std::vector<std::string>& excluded);
/// What the launcher adds for every task alike: the job and its addresses. `no_proxy` holds the
/// names to append. Sent once, since N tasks would else be told N addresses each.
Environment common_environment(const JobFacts& job, const Plan& plan);
/// What it adds for one task: its name, ranks and sizes; a task without rank gets neither of those.
Environment task_environment(const JobFacts& job, const Plan& plan, const Task& task);
/// Both, and TF_CONFIG, made of what tf_cluster() gave; it is left out where it would be longer
/// than a variable can be.
Environment added_environment(const Environment& common, const Environment& task,
                              std::string_view tf_cluster, const TaskId& id);
/// What the worker gets: travelling, the host's own part where -x did not set it, over them the
/// added, then the defaults that stand only where the user set nothing (PYTHONUNBUFFERED,
/// OMP_NUM_THREADS, the interface for NCCL, gloo and Horovod, Paddle's gloo, and those of the added
/// that yield), which DTRAIN_DEFAULTS notes for a dtrain that the worker starts.
/// The job's addresses are appended to no_proxy and NO_PROXY if there is a proxy.
Environment worker_environment(Environment forwarded, const HostFacts& host,
                               const Environment& added, CpuShare share);

}  // namespace dt
