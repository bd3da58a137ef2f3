#include "launcher/config/trust.h"

#include "base/format.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("variables that choose what runs are known, and those that only tune it") {
  for (const char* name : {"PATH",
                           "LD_PRELOAD",
                           "LD_LIBRARY_PATH",
                           "LD_AUDIT",
                           "GCONV_PATH",
                           "HOME",
                           "BASH_ENV",
                           "ENV",
                           "BASH_FUNC_ls%%",
                           "PYTHONPATH",
                           "PYTHONHOME",
                           "PYTHONWARNINGS",
                           "PERL5OPT",
                           "NODE_OPTIONS",
                           "NCCL_NET_PLUGIN",
                           "DTRAIN_NCCL_LIB",
                           "CUDA_INJECTION64_PATH",
                           "OMPI_MCA_plm_rsh_agent",
                           "OMPI_MCA_mca_base_component_path",
                           "GIT_SSH_COMMAND",
                           "DTRAIN_OPT_RSH_AGENT",
                           "CXX",
                           "TPU_LIBRARY_PATH",
                           "PJRT_NAMES_AND_LIBRARY_PATHS",
                           "INTEL_LIBITTNOTIFY64",
                           "OMP_TOOL_LIBRARIES",
                           "TRITON_HOME",
                           "TRITON_CACHE_MANAGER",
                           "XDG_CACHE_HOME",
                           "TMPDIR",
                           "HSA_TOOLS_LIB",
                           "NUMBA_CACHE_DIR",
                           "HF_MODULES_CACHE",
                           "MPLCONFIGDIR",
                           "KERAS_HOME",
                           "HWLOC_PLUGINS_PATH",
                           "PMIX_MCA_mca_base_component_path",
                           "OPAL_PREFIX",
                           "CUDA_CACHE_PATH",
                           "PYTORCH_KERNEL_CACHE_PATH",
                           "CUPY_CACHE_DIR",
                           "JAX_COMPILATION_CACHE_DIR",
                           "TRITON_OVERRIDE_DIR",
                           "TORCH_HOME",
                           "HDF5_PLUGIN_PATH",
                           "OCL_ICD_FILENAMES",
                           "I_MPI_HYDRA_BOOTSTRAP_EXEC",
                           "RDMAV_DRIVERS"}) {
    CAPTURE(name);
    CHECK(chooses_code(name, "x"));
  }
  for (const char* name : {"NCCL_DEBUG", "OMP_NUM_THREADS", "PYTHONUNBUFFERED", "PYTHONHASHSEED",
                           "OMPI_MCA_btl", "MY_PATH", "PATHS", "path", "LDFLAGS",
                           "CUDA_VISIBLE_DEVICES", "HTTPS_PROXY", "I_MPI_DEBUG", ""}) {
    CAPTURE(name);
    CHECK_FALSE(chooses_code(name, "x"));
  }
}

TEST_CASE("certain values of some variables choose what runs") {
  struct Case {
    const char* name;
    const char* value;
    bool chooses;
  };
  const Case cases[] = {
      {"XLA_FLAGS", "--xla_gpu_enable_latency_hiding_scheduler=true --xla_dump_hlo_as_text", false},
      {"XLA_FLAGS", "", false},
      {"XLA_FLAGS", "--xla_gpu_cuda_data_dir=evil", true},
      {"XLA_FLAGS", "--a=1 --xla_gpu_llvm_ir_file=evil.ll", true},
      {"XLA_FLAGS", "flags.txt", true},
      {"XLA_FLAGS", " flags.txt", true},
      {"TF_XLA_FLAGS", "--tf_xla_auto_jit=2", false},
      {"TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory=evil", true},
      {"MPLBACKEND", "Agg", false},
      {"MPLBACKEND", "module://evil", true}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.value);
    CHECK(chooses_code(c.name, c.value) == c.chooses);
  }
}

TEST_CASE("an option that can start programs or send files is refused in a file that was found") {
  const std::pair<const char*, const char*> cases[] = {
      {"rsh-agent", "make programs run"},
      {"sync", "send files to other machines"},
      {"sync-from", "send files to other machines"},
      {"sync-to", "send files to other machines"},
      {"sync-exclude", "send files to other machines"},
      {"fetch", "write files"},
      {"fetch-to", "write files"},
      {"setup", "make programs run"},
      {"setup-once", "make programs run"},
      {"image", "make programs run"}};
  for (const auto& [name, what] : cases) {
    CAPTURE(name);
    OptionSource source = flags({{name, {"true"}}});
    CHECK(check_found_options(source).has_value());
    source.found = true;
    const Result<> checked = check_found_options(source);
    REQUIRE(!checked);
    CHECK(checked.error().message.find(format("it can {}, so it is not taken", what)) !=
          std::string::npos);
  }
}

TEST_CASE("such a variable is refused in a file that was merely found, unless it is the user's") {
  struct Case {
    const char* option;
    const char* value;
    const char* refusal;  ///< before its common end; none if it is taken
  };
  const Case cases[] = {
      {"env", "LD_PRELOAD=x.so", "dtrain.toml:2:1: env: LD_PRELOAD"},
      {"env", "PATH=", "dtrain.toml:2:1: env: PATH"},
      {"env", "PATH", nullptr},
      {"env", "A=PATH=.", nullptr},
      {"role-env", "worker=PYTHONPATH=.", "dtrain.toml:2:1: role-env: PYTHONPATH"},
      {"role-env", "worker=A=1", nullptr},
      {"env-file", "bad", "dtrain.toml:2:1: env-file: BASH_ENV (bad:2:1)"},
      {"env-file", "good", nullptr},
  };
  const auto decide_by = [](OptionSource source) {
    return make_run_config({std::move(source)}, {"true"}, [](const std::string& path) {
      return Result<std::string>(path == "bad" ? "A=1\nBASH_ENV=x\n" : "A=1\nBASH_ENV\n");
    });
  };
  for (const auto& [option, value, refusal] : cases) {
    CAPTURE(value);
    OptionSource source = {.values = {{"np", {"1"}}, {option, {value}}},
                           .origins = {{option, std::string("dtrain.toml:2:1: ") + option}}};
    CHECK(error_of(decide_by(source)) == "accepted");
    source.found = true;
    const std::string error = error_of(decide_by(source));
    if (refusal == nullptr) {
      CHECK(error == "accepted");
      continue;
    }
    const std::string end =
        " can make programs run, so it is not taken from a file that lies in the current folder;\n"
        "give it with --";
    CHECK(error.starts_with(refusal + end + option + ", in DTRAIN_OPT_"));
  }
}

TEST_CASE("a found file's environment does not count where another source sets it") {
  OptionSource file = {.values = {{"np", {"1"}}, {"env", {"PATH=."}}}, .origins = {}};
  file.found = true;
  CHECK(decide({flags({{"env", {"PATH=/bin"}}}), file}).has_value());
}

}  // namespace
}  // namespace dt
