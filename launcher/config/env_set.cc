#include "launcher/config/env_set.h"

#include <algorithm>

namespace dt {
namespace {

constexpr std::string_view none_word = "none";

struct EnvSetWord {
  std::string_view word;
  EnvSets sets;
};

const std::vector<EnvSetWord>& env_set_table() {
  static const std::vector<EnvSetWord> table = {
      {none_word, {}},
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

std::optional<EnvSets> env_sets_named(std::string_view word) {
  const auto& table = env_set_table();
  const auto found = std::ranges::find(table, word, &EnvSetWord::word);
  if (found == table.end()) return std::nullopt;
  return found->sets;
}

std::vector<std::string_view> env_set_words() {
  std::vector<std::string_view> words;
  for (const EnvSetWord& row : env_set_table())
    words.push_back(row.word);
  return words;
}

EnvSets chosen_env_sets(const std::vector<std::string_view>& words) {
  const bool alone = std::ranges::find(words, none_word) != words.end();
  EnvSets chosen = alone ? EnvSets{} : default_env_sets();
  for (const std::string_view word : words) {
    if (const auto sets = env_sets_named(word)) chosen.insert(sets->begin(), sets->end());
  }
  return chosen;
}

}  // namespace dt
