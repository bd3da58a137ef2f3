#include "launcher/environment/variable_names.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

struct Names {
  bool host;
  bool outer;
  std::vector<const char*> names;
};

TEST_CASE("names are a host's, an outer job's, or forwarded") {
  const Names cases[] = {
      {.host = true,
       .outer = false,
       .names = {"HOME", "SHELL", "HOSTNAME", "SSH_AUTH_SOCK", "SSH_CONNECTION",
                 "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUDA_VISIBLE_DEVICES",
                 "KUBERNETES_SERVICE_HOST", "K_MPI_JOB_ROLE", "BASH_FUNC_module%%", "POD_IP",
                 "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "SLURM_JOB_GPUS",
                 "SLURM_CPUS_ON_NODE"}},
      {.host = false,
       .outer = true,
       .names = {"PMI_RANK",
                 "PMI2_STDIO",
                 "PMIX_NAMESPACE",
                 "OMPI_COMM_WORLD_RANK",
                 "PRTE_LAUNCHED",
                 "SLURM_PROCID",
                 "SLURM_STEP_NODELIST",
                 "SLURM_STEPID",
                 "SLURM_LOCALID",
                 "SLURM_NODEID",
                 "SLURM_SRUN_COMM_HOST",
                 "SLURMD_NODENAME",
                 "TORCHELASTIC_RUN_ID",
                 "NODE_RANK",
                 "PET_NNODES",
                 "MASTER_ADDR",
                 "JAX_COORDINATOR_ADDRESS",
                 "TF_CONFIG",
                 "DMLC_ROLE",
                 "DMLC_PS_ROOT_URI",
                 "BYTEPS_LOCAL_RANK",
                 "PADDLE_TRAINERS_NUM",
                 "PADDLE_CURRENT_ENDPOINT",
                 "TRAINING_ROLE",
                 "SLURM_PMIX_MAPPING_SERV",
                 "SLURM_TOPOLOGY_ADDR",
                 "MV2_COMM_WORLD_RANK",
                 "JSM_NAMESPACE_RANK",
                 "FLUX_TASK_RANK",
                 "HOROVOD_CONTROLLER",
                 "HOROVOD_CPU_OPERATIONS",
                 "CROSS_RANK",
                 "LOCAL_SIZE",
                 "JAX_PARTITION_INDEX",
                 "PORT",
                 "RANK",
                 "DTRAIN_RANK",
                 "_HOROVOD_SECRET_KEY",
                 "OLDPWD"}},
      {.host = false,
       .outer = false,
       .names = {"HOMES", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "JAX_PLATFORMS", "DMLC_INTERFACE",
                 "BYTEPS_LOG_LEVEL", "PADDLE_DISTRI_BACKEND", "SLURM_CPUS_PER_TASK", "FLUX_URI",
                 "HOROVOD_GLOO_IFACE", "PORTS", "RANKS", "HOROVOD_LOG_LEVEL", "http_proxy",
                 "HTTPS_PROXY", "LD_LIBRARY_PATH", "DTRAIN_KERNELS", "DTRAIN_CPU_DEVICES"}},
  };
  for (const Names& c : cases) {
    for (const char* name : c.names) {
      CAPTURE(name);
      CHECK(is_host_part(name) == c.host);
      CHECK(is_outer_job(name) == c.outer);
    }
  }
}

TEST_CASE("a pattern fits a whole name, in its own case") {
  const std::vector<std::string> patterns = {"AWS_*", "?", "X[0-9]"};
  for (const char* name : {"AWS_", "AWS_KEY", "Y", "X7"}) {
    CAPTURE(name);
    CHECK(fits_any(name, patterns));
  }
  for (const char* name : {"AWS", "aws_KEY", "XY", "MY_AWS_KEY", ""}) {
    CAPTURE(name);
    CHECK_FALSE(fits_any(name, patterns));
  }
  CHECK_FALSE(fits_any("A", {}));
}

}  // namespace
}  // namespace dt
