#include "launcher/config/files/stray_variables.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace dt {
namespace {

/// The names behind DTRAIN_ that a worker gets or libdtrain reads, and that of dtrain's tests.
constexpr std::string_view known_names[] = {"ALONE",
                                            "ATTEMPT",
                                            "BYTES_PER_PACK",
                                            "CODE_DIR",
                                            "COMMUNICATION",
                                            "CPU_DEVICES",
                                            "CROSS_DEVICE_OP",
                                            "CROSS_RANK",
                                            "CROSS_SIZE",
                                            "DEFAULTS",
                                            "DEVICES",
                                            "DEVICE_COLLECTIVES",
                                            "DEVICE_MEMORY",
                                            "DUMP_STACKS",
                                            "GENERATION",
                                            "GPU_SHARE",
                                            "HOSTNAME",
                                            "JOB_ID",
                                            "KERNELS",
                                            "LINE_BUFFERED",
                                            "LOCAL_RANK",
                                            "LOCAL_SIZE",
                                            "LOG_PLACEMENT",
                                            "NCCL_LIB",
                                            "NNODES",
                                            "NODES_TOKEN",
                                            "NODE_RANK",
                                            "PEER_MAX",
                                            "PORT",
                                            "PS_MODE",
                                            "PS_REPLICAS",
                                            "RANK",
                                            "RENDEZVOUS",
                                            "RESULT_FD",
                                            "ROLE",
                                            "SETUP_DIR",
                                            "SIZE",
                                            "SOFT_PLACEMENT",
                                            "STRATEGY",
                                            "STRATEGY_TIMEOUT",
                                            "TASK_INDEX",
                                            "TEST_LONG",
                                            "TOKEN"};

/// A variable by which another launcher takes an option, and the options of dtrain that replace it.
struct ForeignVariable {
  std::string_view name;
  std::string_view options;  ///< the first is its own
};
constexpr ForeignVariable foreign_variables[] = {
    {"HOROVOD_START_TIMEOUT", "start-timeout"},
    {"HOROVOD_ELASTIC_TIMEOUT", "elastic-timeout"},
    {"PET_MAX_RESTARTS", "max-restarts reset-limit restart-role"},
    {"PET_LOG_DIR", "output-dir"},
    {"PET_REDIRECTS", "redirects quiet"},
    {"PET_TEE", "tee output-dir"}};

/// True for the variables by which Kubernetes describes a Service named dtrain or dtrain-….
bool is_of_a_service(std::string_view name) {
  return name.ends_with("_PORT") || name.find("_PORT_") != std::string_view::npos ||
         name.find("_SERVICE_") != std::string_view::npos;
}

bool is_forwarded(std::string_view name, const OptionSources& sources) {
  const std::vector<OptionValue> all = find_all(sources, "env");
  return std::ranges::any_of(all, [name](const OptionValue& given) {
    return std::ranges::any_of(*given.values, [name](std::string_view setting) {
      return setting.substr(0, setting.find('=')) == name;
    });
  });
}

/// Returns the variable that `ending`, behind DTRAIN_, was meant for.
std::optional<std::string> meant_by(std::string_view ending) {
  std::vector<std::string> endings(std::begin(known_names), std::end(known_names));
  for (const Option& option : run_options) {
    if (option.effect == Effect::prints) continue;
    std::string variable = variable_of(option);
    if (variable == format("DTRAIN_OPT_{}", ending)) return variable;
    endings.push_back(variable.substr(std::string_view("DTRAIN_").size()));
  }
  const auto guess = nearest(ending, endings);
  return guess ? std::optional(format("DTRAIN_{}", *guess)) : std::nullopt;
}

std::string unknown_warning(const Environment& environment, const OptionSources& sources) {
  constexpr std::string_view prefix = "DTRAIN_";
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(prefix) || name.starts_with("DTRAIN_OPT_")) continue;
    const std::string_view ending = std::string_view(name).substr(prefix.size());
    if (std::ranges::count(known_names, ending) > 0 || is_of_a_service(name) ||
        is_forwarded(name, sources))
      continue;
    const auto meant = meant_by(ending);
    words.push_back(printable(name) + (meant ? format(" (did you mean {}?)", *meant) : ""));
  }
  if (words.empty()) return "";
  return format("{}: unknown to dtrain, and not forwarded without -x NAME", join(words, ", "));
}

std::string foreign_warning(const Environment& environment, const OptionSources& sources) {
  std::vector<std::string> words;
  for (const ForeignVariable& foreign : foreign_variables) {
    const auto found = environment.find(std::string(foreign.name));
    if (found == environment.end() || found->second.empty()) continue;
    const std::vector<std::string_view> options = split_words(foreign.options);
    const bool replaced = std::ranges::any_of(
        options, [&](std::string_view option) { return find_option(sources, option).has_value(); });
    if (replaced) continue;
    words.push_back(
        format("{} (write {})", foreign.name, variable_of(*find_option(options.front()))));
  }
  return words.empty() ? "" : format("{}: not read by dtrain", join(words, ", "));
}

}  // namespace

std::vector<std::string> stray_variable_warnings(const Environment& environment,
                                                 const OptionSources& sources) {
  std::vector<std::string> warnings;
  for (std::string warning :
       {unknown_warning(environment, sources), foreign_warning(environment, sources)}) {
    if (!warning.empty()) warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace dt
