#include "launcher/variable_names.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("names are told apart by whose they are") {
  struct Case {
    const char* name;
    bool host;
    bool outer;
  };
  const Case cases[] = {
      {"HOME", true, false},
      {"HOMES", false, false},
      {"SHELL", true, false},
      {"HOSTNAME", true, false},
      {"SSH_AUTH_SOCK", true, false},
      {"SSH_CONNECTION", true, false},
      {"NVIDIA_VISIBLE_DEVICES", true, false},
      {"NVIDIA_DRIVER_CAPABILITIES", true, false},
      {"CUDA_VISIBLE_DEVICES", true, false},
      {"KUBERNETES_SERVICE_HOST", true, false},
      {"K_MPI_JOB_ROLE", true, false},
      {"BASH_FUNC_module%%", true, false},
      {"PMI_RANK", false, true},
      {"PMI2_STDIO", false, true},
      {"PMIX_NAMESPACE", false, true},
      {"OMPI_COMM_WORLD_RANK", false, true},
      {"PRTE_LAUNCHED", false, true},
      {"SLURM_PROCID", false, true},
      {"SLURM_STEP_NODELIST", false, true},
      {"SLURM_STEPID", false, true},
      {"SLURM_JOB_ID", false, false},
      {"SLURM_JOB_NODELIST", false, false},
      {"SLURM_LOCALID", false, true},
      {"SLURM_NODEID", false, true},
      {"SLURM_SRUN_COMM_HOST", false, true},
      {"SLURMD_NODENAME", false, true},
      {"TORCHELASTIC_RUN_ID", false, true},
      {"NODE_RANK", false, true},
      {"PET_NNODES", false, true},
      {"MASTER_ADDR", false, true},
      {"JAX_COORDINATOR_ADDRESS", false, true},
      {"JAX_PLATFORMS", false, false},
      {"TF_CONFIG", false, true},
      {"POD_IP", true, false},
      {"DMLC_ROLE", false, true},
      {"DMLC_PS_ROOT_URI", false, true},
      {"DMLC_INTERFACE", false, false},
      {"BYTEPS_LOCAL_RANK", false, true},
      {"BYTEPS_LOG_LEVEL", false, false},
      {"PADDLE_TRAINERS_NUM", false, true},
      {"PADDLE_CURRENT_ENDPOINT", false, true},
      {"PADDLE_DISTRI_BACKEND", false, false},
      {"TRAINING_ROLE", false, true},
      {"PORT", false, true},
      {"PORTS", false, false},
      {"RANK", false, true},
      {"RANKS", false, false},
      {"DTRAIN_RANK", false, true},
      {"_HOROVOD_SECRET_KEY", false, true},
      {"OLDPWD", false, true},
      {"HOROVOD_LOG_LEVEL", false, false},
      {"http_proxy", false, false},
      {"HTTPS_PROXY", false, false},
      {"LD_LIBRARY_PATH", false, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(is_host_part(c.name) == c.host);
    CHECK(is_outer_job(c.name) == c.outer);
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
