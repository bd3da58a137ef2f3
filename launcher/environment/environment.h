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

/// Values that are the same for all tasks of a job.
struct JobFacts {
  std::string job;
  uint32_t generation = 0;
  uint32_t restarts_max = 0;   ///< of the whole job (--max-restarts)
  std::string token;           ///< 64 hex digits
  std::string rendezvous;      ///< host:port; empty: none that all tasks could use
  std::string master_address;  ///< by which peers reach rank 0's host; empty: no ranks
  uint16_t master_port = 0;
  uint16_t jax_port = 0;   ///< on rank 0's host
  bool horovod = false;    ///< the rendezvous also serves Horovod's workers
  bool own_ports = false;  ///< libdtrain listens only at the task's port (--port-range)
  ClusterSpec cluster;
  EnvSets env_sets = default_env_sets();
  JobShape shape;
  bool dump_stacks = false;    ///< libdtrain writes its stack on SIGQUIT
  Environment strategy = {};   ///< the variables of --strategy and its options
  int own_gpus = 0;            ///< GPUs that each rank alone sees, from number 0; 0: all
  bool gpu_share = false;      ///< ranks may share GPUs
  std::string slurm_job = {};  ///< SLURM_JOB_ID, where the hosts are of a Slurm job
};

/// Returns "0,1": the numbers by which each rank has its own GPUs.
std::string own_gpu_numbers(const JobFacts& job);

/// The part of a task's environment that only its host knows.
struct HostFacts {
  Environment own;  ///< HOME, USER, …: host_environment() of the agent's environment
  std::string hostname;
  std::string interface;     ///< by which other hosts reach this one; empty: unknown
  bool accelerator = false;  ///< it has a device for training, of any vendor
};

/// The number of CPUs that a task may use, and of tasks that share them.
struct CpuShare {
  int cpus = 1;
  int tasks = 1;
};

/// Returns the variables that the launcher forwards to tasks: its environment, then the settings of
/// -x and --env-file. The settings are always forwarded.
///
/// A host's own variables and those of an outer job are not forwarded from the environment
/// (launcher/environment/variable_names.h). Nor are defaults of an outer dtrain, and names that
/// match `excluded`. A setting without a value whose variable is not set is left out.
Environment forwarded_environment(const Environment& launcher,
                                  const std::vector<EnvironmentSetting>& settings,
                                  const std::vector<std::string>& excluded = {});
/// Returns a warning for each setting that forwards a variable which is not set.
std::vector<std::string> unset_settings(const Environment& launcher,
                                        const std::vector<EnvironmentSetting>& settings);
/// Returns the names that settings of the user have, although dtrain's own values for a task win.
std::vector<std::string> overridden_settings(const std::vector<EnvironmentSetting>& settings,
                                             const Environment& added);
/// Returns the host's own variables of an agent's environment, except names that match `excluded`.
Environment host_environment(Environment agent, const std::vector<std::string>& excluded);
/// Returns the variables that the launcher adds for every task alike: the job and its addresses.
/// `no_proxy` has only the names to append. An agent gets them once: they list the addresses of all
/// N tasks, and N copies would be too long.
Environment common_environment(const JobFacts& job, const Plan& plan);
/// Returns the variables that the launcher adds for one task. They are its name and, if it has a
/// rank, its ranks and sizes.
Environment task_environment(const JobFacts& job, const Plan& plan, const Task& task);
/// The starts of a task so far, and how many more it may have had.
struct TaskStarts {
  uint32_t attempt = first_attempt;
  uint32_t generation = 1;
  uint32_t restarts_max = 0;  ///< of the whole job and of the task
};
/// Returns the variables of a task that change with its attempt. The values of the first attempt
/// are in common_environment().
Environment attempt_environment(const EnvSets& sets, const TaskStarts& starts);
/// Returns both, and TF_CONFIG from the text of tf_cluster(). TF_CONFIG is left out when it exceeds
/// the limit of a variable.
Environment added_environment(const Environment& common, Environment task,
                              std::string_view tf_cluster, const TaskId& id);
/// Returns the complete environment of a worker. The added variables override the forwarded ones,
/// except those that yield to the user. Forwarded variables override the host's own. Last come the
/// defaults, each where its variable is not set: PYTHONUNBUFFERED, OMP_NUM_THREADS, the interface
/// for NCCL, gloo and Horovod, PADDLE_DISTRI_BACKEND, and the added variables that yield.
///
/// DTRAIN_DEFAULTS lists the defaults that were set, for a dtrain that the worker starts. If there
/// is a proxy, the job's names are appended to no_proxy and NO_PROXY.
Environment worker_environment(Environment forwarded, const HostFacts& host,
                               const Environment& added, CpuShare share);

}  // namespace dt
