#include "launcher/environment/variable_names.h"

#include <fnmatch.h>

#include <algorithm>

namespace dt {
namespace {

// A name, or a prefix of names when it ends in "*".
using Pattern = std::string_view;

constexpr Pattern names_of_the_host[] = {
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "HOSTNAME",
    "SSH_*",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    // Slurm's resources on this node.
    "SLURM_JOB_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_CPUS_ON_NODE",
    // A container's runtime sets these for its own container.
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "POD_IP",
    "KUBERNETES_*",
    "K_MPI_JOB_ROLE",
    // Shell functions call what is installed beside them.
    "BASH_FUNC_*",
};

constexpr Pattern outer_job[] = {
    "DTRAIN_*",
    // With these an MPI library would connect to a launcher that has not started it.
    "PMI*",
    "OMPI_*",
    "PRTE_*",
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_*",
    "JSM_NAMESPACE_*",
    "FLUX_TASK_*",
    "HOROVOD_RANK",
    "HOROVOD_SIZE",
    "HOROVOD_LOCAL_RANK",
    "HOROVOD_LOCAL_SIZE",
    "HOROVOD_CROSS_*",
    "HOROVOD_CONTROLLER",
    "HOROVOD_CPU_OPERATIONS",
    "HOROVOD_HOSTNAME",
    "HOROVOD_GLOO_RENDEZVOUS_*",
    "HOROVOD_ELASTIC",
    "_HOROVOD_SECRET_KEY",
    // A task without rank gets none of these from dtrain, so the outer job's would remain.
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "NODE_RANK",
    "ROLE_NAME",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    // DeepSpeed's launcher
    "LOCAL_SIZE",
    "CROSS_RANK",
    "CROSS_SIZE",
    "TORCHELASTIC_*",
    "PET_*",  // torchrun's options, of the group that its agent belongs to
    "MASTER_ADDR",
    "MASTER_PORT",
    "JAX_PROCESS_ID",
    "JAX_NUM_PROCESSES",
    "JAX_COORDINATOR_*",
    "JAX_PARTITION_INDEX",
    "TF_CONFIG",
    "TF_GRPC_REUSE_PORT",
    "DMLC_ROLE",
    "DMLC_PS_ROOT_*",
    "DMLC_NUM_*",
    "DMLC_WORKER_ID",
    "DMLC_SERVER_ID",
    "DMLC_NODE_HOST",
    "DMLC_TASK_ID",
    "DMLC_TRACKER_*",
    "BYTEPS_LOCAL_*",
    "PADDLE_TRAINER*",
    "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_MASTER",
    "PADDLE_NNODES",
    "PADDLE_RANK_IN_NODE",
    "PADDLE_GLOBAL_*",
    "PADDLE_LOCAL_*",
    "PADDLE_ROLE",
    "PADDLE_PORT",
    "TRAINING_ROLE",
    "FLAGS_selected_gpus",
    // A SLURM step sets these; the variables of its allocation are forwarded.
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_STEP_*",
    "SLURM_STEPID",
    "SLURM_TASK_PID",
    "SLURM_GTIDS",
    "SLURM_SRUN_*",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_CPU_BIND*",
    "SLURM_MEM_BIND*",
    "SLURM_TOPOLOGY_*",
    "SLURM_PMI*",
    "SLURMD_NODENAME",
    // ps-lite listens at PORT; the shell keeps its last folder in OLDPWD.
    "PORT",
    "OLDPWD",
};

// These of DTRAIN_* are a user's settings for libdtrain. A job within a job needs them, too.
constexpr Pattern settings_of_the_user[] = {
    "DTRAIN_CPU_DEVICES", "DTRAIN_DEVICE_COLLECTIVES", "DTRAIN_KERNELS",
    "DTRAIN_NCCL_LIB",    "DTRAIN_PEER_MAX",
};

bool matches(std::string_view name, std::span<const Pattern> patterns) {
  return std::ranges::any_of(patterns, [name](Pattern pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

}  // namespace

bool is_host_part(std::string_view name) {
  return matches(name, names_of_the_host);
}

bool is_outer_job(std::string_view name) {
  return matches(name, outer_job) && !matches(name, settings_of_the_user);
}

bool fits_any(const std::string& name, std::span<const std::string> patterns) {
  return std::ranges::any_of(patterns, [&name](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

}  // namespace dt
