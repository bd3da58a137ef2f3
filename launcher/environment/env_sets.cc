#include "launcher/environment/env_sets.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "launcher/environment/dmlc_environment.h"
#include "launcher/environment/horovod_environment.h"
#include "launcher/environment/paddle_environment.h"
#include "launcher/environment/slurm_environment.h"

#include <algorithm>

namespace dt {
namespace {

struct TaskFacts {
  const JobFacts& job;
  const Plan& plan;
  const Task& task;
};

/// A task with rank, with the values of its variables as text.
struct RankedTask : TaskFacts {
  std::string rank = format("{}", task.rank);
  std::string size = format("{}", plan.world_size);
  std::string local_rank = format("{}", task.local_rank);
  std::string local_size = format("{}", plan.local_size(task));
  std::string node = format("{}", job.shape.node_of_host[static_cast<size_t>(task.agent)]);
  std::string nodes = format("{}", job.shape.node_count);
};

struct Variable {
  const char* name;
  std::string value;
};

void add_all(Environment& environment, std::initializer_list<Variable> variables) {
  for (const auto& [name, value] : variables)
    environment[name] = value;
}

void torch_of_job(Environment& environment, const JobFacts& job, const Plan& /*plan*/) {
  if (!job.master_address.empty()) {
    add_all(environment,
            {{"MASTER_ADDR", job.master_address}, {"MASTER_PORT", format("{}", job.master_port)}});
  }
  add_all(environment,
          {// Lightning reads its rank from Slurm or MPI unless torchrun seems to have started it.
           {"TORCHELASTIC_RUN_ID", job.job},
           {"TORCHELASTIC_RESTART_COUNT", format("{}", std::max(job.generation, 1U) - 1)},
           {"TORCHELASTIC_MAX_RESTARTS", format("{}", job.restarts_max)},
           // Otherwise rank 0 would wait for torchrun's store instead of opening its own.
           {"TORCHELASTIC_USE_AGENT_STORE", "False"},
           {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}});
}

void torch_of_task(Environment& environment, const TaskFacts& facts) {
  environment["ROLE_NAME"] = facts.task.id.role;
}

void torch_of_rank(Environment& environment, const RankedTask& facts) {
  const TaskId& id = facts.task.id;
  add_all(environment, {{"RANK", facts.rank},
                        {"WORLD_SIZE", facts.size},
                        {"LOCAL_RANK", facts.local_rank},
                        {"LOCAL_WORLD_SIZE", facts.local_size},
                        {"GROUP_RANK", facts.node},
                        {"GROUP_WORLD_SIZE", facts.nodes},
                        {"NODE_RANK", facts.node},
                        {"ROLE_RANK", format("{}", id.index)},
                        {"ROLE_WORLD_SIZE", format("{}", facts.job.shape.role_sizes.at(id.role))}});
}

void tf_of_job(Environment& environment, const JobFacts& /*job*/, const Plan& /*plan*/) {
  environment["TF_GRPC_REUSE_PORT"] = "1";
}

void horovod_of_job(Environment& environment, const JobFacts& job, const Plan& /*plan*/) {
  if (job.horovod) add_horovod_controller(environment, job.master_address);
}

void horovod_of_task(Environment& environment, const TaskFacts& facts) {
  // Horovod groups the ranks of a host by this name.
  environment["HOROVOD_HOSTNAME"] =
      facts.plan.hosts[static_cast<size_t>(facts.task.agent)].host.name;
}

void horovod_of_rank(Environment& environment, const RankedTask& facts) {
  add_horovod_ranks(environment, facts.plan, facts.task);
}

void jax_of_job(Environment& environment, const JobFacts& job, const Plan& /*plan*/) {
  if (job.master_address.empty()) return;
  environment["JAX_COORDINATOR_ADDRESS"] = host_port(job.master_address, job.jax_port);
}

void jax_of_rank(Environment& environment, const RankedTask& facts) {
  add_all(environment, {{"JAX_PROCESS_ID", facts.rank}, {"JAX_NUM_PROCESSES", facts.size}});
}

void ompi_of_rank(Environment& environment, const RankedTask& facts) {
  add_all(environment, {{"OMPI_COMM_WORLD_RANK", facts.rank},
                        {"OMPI_COMM_WORLD_SIZE", facts.size},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", facts.local_rank},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", facts.local_size}});
}

/// In a step of Slurm, JAX would choose the GPU with its local rank. But the task sees only those
/// from number 0.
void add_jax_device(Environment& environment, const JobFacts& job) {
  if (job.own_gpus > 0) environment["JAX_LOCAL_DEVICE_IDS"] = own_gpu_numbers(job);
}

/// JAX requires five SLURM_* names. It would derive the coordinator's address from the first
/// node and the job's id. But JAX_COORDINATOR_ADDRESS is set, so one node and any id are enough.
void slurm_of_job(Environment& environment, const JobFacts& job, const Plan& plan) {
  const int first = plan.tasks.front().agent;
  add_all(environment, {{"SLURM_JOB_ID", format("{}", job.jax_port)},
                        {"SLURM_STEP_NODELIST", plan.hosts[static_cast<size_t>(first)].host.name}});
  add_jax_device(environment, job);
}

void slurm_of_rank(Environment& environment, const RankedTask& facts) {
  add_slurm_rank(environment, facts.job, facts.plan, facts.task);
}

void slurm_job_of_job(Environment& environment, const JobFacts& job, const Plan& plan) {
  add_slurm_job(environment, job, plan);
  add_jax_device(environment, job);
}

void dmlc_of_job(Environment& environment, const JobFacts& job, const Plan& /*plan*/) {
  add_dmlc_scheduler(environment, job.cluster);
}

void dmlc_of_task(Environment& environment, const TaskFacts& facts) {
  add_dmlc_task(environment, facts.job.cluster, facts.task.id);
}

void paddle_of_task(Environment& environment, const TaskFacts& facts) {
  add_paddle_role(environment, facts.job, facts.task);
}

void paddle_of_rank(Environment& environment, const RankedTask& facts) {
  add_paddle_rank(environment, facts.job, facts.plan, facts.task);
}

/// The functions that add a set's variables; nullptr: it has none.
struct SetRow {
  EnvSet set;
  void (*of_job)(Environment&, const JobFacts&, const Plan&);
  void (*of_task)(Environment&, const TaskFacts&);
  void (*of_rank)(Environment&, const RankedTask&);
};

/// NCCL refuses two ranks with one GPU on one host. With an identity of its own, each rank is a
/// host for NCCL, which then uses sockets alone. Few channels and one algorithm keep the turns of
/// the processes on the GPU few. Kernels are loaded early, since a kernel that waits would block
/// that.
void share_gpu(Environment& environment, const RankedTask& facts) {
  add_all(environment, {{"DTRAIN_GPU_SHARE", "1"},
                        {"NCCL_HOSTID", format("dtrain-{}-{}", facts.job.job, facts.rank)},
                        {"NCCL_NET", "Socket"},
                        {"NCCL_IB_DISABLE", "1"},
                        {"NCCL_P2P_DISABLE", "1"},
                        {"NCCL_SHM_DISABLE", "1"},
                        {"NCCL_MNNVL_ENABLE", "0"},
                        {"NCCL_NVLS_ENABLE", "0"},
                        {"NCCL_PXN_DISABLE", "1"},
                        {"NCCL_ALGO", "Ring"},
                        {"NCCL_PROTO", "Simple"},
                        {"NCCL_MAX_CTAS", "2"},
                        {"NCCL_RAS_ENABLE", "0"},
                        // The stream that ends the waits of another one must not wait behind it.
                        {"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
                        {"CUDA_MODULE_LOADING", "EAGER"}});
  // NCCL never takes the loopback by itself if there is another interface.
  if (facts.plan.host_count() == 1) environment["NCCL_SOCKET_IFNAME"] = "=lo";
}

constexpr SetRow set_rows[] = {
    {EnvSet::torch, torch_of_job, torch_of_task, torch_of_rank},
    {EnvSet::tf, tf_of_job, nullptr, nullptr},  // and TF_CONFIG, which each agent makes
    {EnvSet::horovod, horovod_of_job, horovod_of_task, horovod_of_rank},
    {EnvSet::jax, jax_of_job, nullptr, jax_of_rank},
    {EnvSet::ompi, nullptr, nullptr, ompi_of_rank},
    {EnvSet::slurm, slurm_of_job, nullptr, slurm_of_rank},
    {EnvSet::slurm_job, slurm_job_of_job, nullptr, slurm_of_rank},  // after the made-up values
    {EnvSet::dmlc, dmlc_of_job, dmlc_of_task, nullptr},
    {EnvSet::paddle, add_paddle_cluster, paddle_of_task, paddle_of_rank},
};

}  // namespace

void add_job_variables(Environment& environment, const JobFacts& job, const Plan& plan) {
  for (const SetRow& row : set_rows) {
    if (row.of_job != nullptr && job.env_sets.contains(row.set)) {
      row.of_job(environment, job, plan);
    }
  }
}

void add_task_variables(Environment& environment, const JobFacts& job, const Plan& plan,
                        const Task& task) {
  const TaskFacts facts{.job = job, .plan = plan, .task = task};
  for (const SetRow& row : set_rows) {
    if (row.of_task != nullptr && job.env_sets.contains(row.set)) row.of_task(environment, facts);
  }
  if (task.rank < 0) return;
  const RankedTask ranked{facts};
  add_all(environment, {{"DTRAIN_RANK", ranked.rank},
                        {"DTRAIN_SIZE", ranked.size},
                        {"DTRAIN_LOCAL_RANK", ranked.local_rank},
                        {"DTRAIN_LOCAL_SIZE", ranked.local_size},
                        {"DTRAIN_CROSS_RANK", format("{}", task.cross_rank)},
                        {"DTRAIN_CROSS_SIZE", format("{}", task.cross_size)},
                        {"DTRAIN_NODE_RANK", ranked.node},
                        {"DTRAIN_NNODES", ranked.nodes}});
  if (job.gpu_share) share_gpu(environment, ranked);
  for (const SetRow& row : set_rows) {
    if (row.of_rank != nullptr && job.env_sets.contains(row.set)) row.of_rank(environment, ranked);
  }
}

bool yields_to_user(std::string_view name) {
  constexpr std::string_view names[] = {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "HOROVOD_GLOO_IFACE",
                                        "JAX_LOCAL_DEVICE_IDS"};
  return std::ranges::find(names, name) != std::end(names) || name.starts_with("SLURM_");
}

}  // namespace dt
