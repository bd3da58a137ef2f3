#include "launcher/config/env_set.h"

#include <algorithm>
#include <utility>

namespace dt {
namespace {

constexpr std::string_view none_name = "none";

struct EnvSetRow {
  std::string_view name;
  EnvSets sets;
};

const std::vector<EnvSetRow>& env_set_table() {
  static const std::vector<EnvSetRow> table = {
      {none_name, {}},
      {"torch", {EnvSet::torch}},
      {"tf", {EnvSet::tf}},
      {"horovod", {EnvSet::horovod}},
      {"jax", {EnvSet::jax, EnvSet::slurm}},
      {"ompi", {EnvSet::ompi}},
      {"dmlc", {EnvSet::dmlc}},
      {"paddle", {EnvSet::paddle}},
  };
  return table;
}

}  // namespace

EnvSets default_env_sets() {
  return {EnvSet::torch, EnvSet::tf, EnvSet::horovod, EnvSet::jax, EnvSet::ompi};
}

std::optional<EnvSets> env_sets_named(std::string_view name) {
  const auto& table = env_set_table();
  const auto found = std::ranges::find(table, name, &EnvSetRow::name);
  if (found == table.end()) return std::nullopt;
  return found->sets;
}

std::vector<std::string_view> env_set_names() {
  std::vector<std::string_view> names;
  for (const EnvSetRow& row : env_set_table())
    names.push_back(row.name);
  return names;
}

EnvSets chosen_env_sets(const std::vector<std::string_view>& names, EnvSets defaults) {
  const bool alone = std::ranges::find(names, none_name) != names.end();
  EnvSets chosen = alone ? EnvSets{} : std::move(defaults);
  for (const std::string_view name : names) {
    if (const auto sets = env_sets_named(name)) chosen.insert(sets->begin(), sets->end());
  }
  return chosen;
}

}  // namespace dt
