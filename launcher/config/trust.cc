#include "launcher/config/trust.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/options.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

namespace dt {
namespace {

/// Patterns of names; those with "=" of names and values.
constexpr const char* code_choosers[] = {
    "PATH",
    // The loader and the C library.
    "LD_*",
    "GCONV_PATH",
    // Most programs read files there that can name other programs.
    "HOME",
    "XDG_CONFIG_*",
    "XDG_DATA_*",
    "XDG_CACHE_HOME",
    "TMPDIR",
    // Shells.
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_ENV",
    "BASH_FUNC_*",
    "ENV",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    // Interpreters.
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "PYTHONSTARTUP",
    "PYTHONEXECUTABLE",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",  // imports modules
    "PERL5*",
    "PERLLIB",
    "RUBYLIB",
    "RUBYOPT",
    "NODE_OPTIONS",
    "NODE_PATH",
    "CLASSPATH",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "LUA_*",
    "R_PROFILE*",
    "R_ENVIRON*",
    "R_LIBS*",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "JULIA_PROJECT",
    // Compilers that run during a script, and caches of their results.
    "CC",
    "CXX",
    "CUDA_HOME",
    "CUDA_PATH",
    "TRITON_PTXAS*_PATH",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "TRITON_HOME",
    "TRITON_CACHE_MANAGER",
    "CUDA_CACHE_PATH",
    "CUPY_CACHE_DIR",
    "JAX_COMPILATION_CACHE_DIR",
    "TRITON_OVERRIDE_DIR",
    "TORCH_HOME",  // torch.hub runs code of there
    "PYTORCH_KERNEL_CACHE_PATH",
    "NUMBA_CACHE_DIR",
    "HF_MODULES_CACHE",
    "KERAS_HOME",
    "MPLCONFIGDIR",
    "MPLBACKEND=*module:*",
    // XLA's flags name the folder of its compiler, files of code, and a file with more flags.
    "*XLA_FLAGS=*_dir*",
    "*XLA_FLAGS=*_file*",
    "*XLA_FLAGS=*_path*",
    "*XLA_FLAGS=*_from=*",
    "*XLA_FLAGS=*_backend_extra_options*",
    "*XLA_FLAGS=[!-]*",
    // Programs that other programs start, also a dtrain in the job.
    "GIT_*",
    "DTRAIN_OPT_*",
    // Libraries that other libraries load.
    "CUDA_INJECTION*",
    "NVTX_INJECTION*",
    "NCCL_*_PLUGIN",
    "NCCL_CONF_FILE",
    "DTRAIN_NCCL_LIB",
    "OMPI_MCA_*_path",
    "OMPI_MCA_*_agent",
    "UCX_MODULE_DIR",
    "FI_PROVIDER_PATH",
    "RDMAV_DRIVERS",
    "HWLOC_PLUGINS_PATH",
    "HDF5_PLUGIN_PATH",
    "OCL_ICD_*",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC*",
    "PMIX_MCA_*",
    "OPAL_PREFIX",
    "TPU_LIBRARY_PATH",
    "PJRT_NAMES_AND_LIBRARY_PATHS",
    "OMP_TOOL_LIBRARIES",
    "HSA_TOOLS_LIB",
    "INTEL_LIBITTNOTIFY*",
    "INTEL_JIT_PROFILER*",
    "OPENSSL_*",
};

/// Returns the harm that the option could do in a file of another user.
std::string_view danger_of(const Option& option) {
  if (option.group != OptionGroup::code || option.name.starts_with("setup") ||
      option.name.starts_with("mount"))
    return "make programs run";
  return option.name.starts_with("fetch") ? "write files" : "send files to other machines";
}

tl::unexpected<Error> refuse_found(const OptionValue& given, std::string_view what) {
  const Option& option = *find_option(given.name);
  return given.refuse(
      format("{} can {}, so it is not taken from a file that lies in the current folder;\n"
             "give it with {}, in {}, with --config-file, or in ~/.config/dtrain/config.toml",
             what, danger_of(option), spellings_of(option).back(), variable_of(option)));
}

}  // namespace

bool chooses_code(std::string_view variable, std::string_view value) {
  const std::string name(variable);
  const std::string setting = format("{}={}", variable, value);
  return std::ranges::any_of(code_choosers, [&](const char* pattern) {
    const bool by_value = std::string_view(pattern).find('=') != std::string_view::npos;
    return fnmatch(pattern, (by_value ? setting : name).c_str(), 0) == 0;
  });
}

Result<> check_found_options(const OptionSource& source) {
  if (!source.found) return {};
  for (const Option& option : run_options) {
    const auto given = find_in(source, option.name);
    if (option.trusted_only && given) return refuse_found(*given, "it");
  }
  return {};
}

Result<> check_found_variable(const OptionValue& given, const EnvironmentSetting& setting) {
  if (!given.found || !setting.value || !chooses_code(setting.name, *setting.value)) return {};
  const std::string name = printable(setting.name);
  return refuse_found(
      given, setting.origin == given.origin ? name : format("{} ({})", name, setting.origin));
}

}  // namespace dt
