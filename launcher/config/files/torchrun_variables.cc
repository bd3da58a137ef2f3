#include "launcher/config/files/torchrun_variables.h"

#include "base/text.h"
#include "launcher/config/allocation/allocation.h"
#include "launcher/config/allocation/started_once.h"
#include "launcher/config/option_value.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dt {
namespace {

/// A variable of torchrun, its option, and the options that replace it.
struct TorchrunVariable {
  std::string_view name;
  std::string_view option;
  std::string_view replaced_by;
};
constexpr TorchrunVariable processes = {
    "PET_NPROC_PER_NODE", "nproc-per-node",
    "nproc-per-node np ppn hosts hostfile host-discovery-script role cluster-spec"};
constexpr TorchrunVariable nodes[] = {
    {"PET_NNODES", "nnodes", "nnodes"},
    {"PET_NODE_RANK", "node-rank", "node-rank"},
    {"PET_RDZV_BACKEND", "rdzv-backend", "rdzv-backend"},
    {"PET_RDZV_ENDPOINT", "rdzv-endpoint", "rdzv-endpoint master-addr"},
    {"PET_RDZV_ID", "rdzv-id", "rdzv-id"},
    {"PET_MASTER_ADDR", "master-addr", "master-addr rdzv-endpoint"},
    {"PET_MASTER_PORT", "master-port", "master-port rdzv-endpoint"}};

bool has_any(const OptionSources& sources, std::string_view names) {
  return std::ranges::any_of(split_words(names), [&](std::string_view name) {
    return find_option(sources, name).has_value();
  });
}

bool has_flag(const OptionSources& sources, std::string_view name) {
  const auto given = find_option(sources, name);
  return given && given->flag().value_or(false);
}

void add(const TorchrunVariable& variable, const OptionSources& nearer,
         const Environment& environment, OptionSource& source) {
  const auto found = environment.find(std::string(variable.name));
  if (found == environment.end() || found->second.empty()) return;
  if (has_any(nearer, variable.replaced_by) || has_any({source}, variable.replaced_by)) return;
  source.values.emplace(variable.option, std::vector{found->second});
  source.origins.emplace(variable.option, variable.name);
}

/// True where the hosts of the job are known, so that its nodes do not start by themselves.
bool names_hosts(const OptionSources& nearer, const Environment& environment) {
  if (has_any(nearer, "hosts hostfile host-discovery-script cluster-spec")) return true;
  if (has_flag(nearer, "standalone")) return true;
  const auto allocation = find_option(nearer, "allocation");
  const bool is_step = tasks_of_step(environment) > 0;
  return !is_step && shows_allocation(allocation ? allocation->value() : "auto", environment);
}

}  // namespace

OptionSource torchrun_variables(const OptionSources& nearer, const Environment& environment) {
  OptionSource source;
  if (environment.contains("DTRAIN_ROLE")) return source;
  add(processes, nearer, environment, source);
  if (names_hosts(nearer, environment)) return source;
  for (const TorchrunVariable& variable : nodes)
    add(variable, nearer, environment, source);
  return source;
}

}  // namespace dt
