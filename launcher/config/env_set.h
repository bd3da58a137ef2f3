#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace dt {

/// A family of variables by which the programs of some framework find their place. DTRAIN_* belongs
/// to none: every task gets it.
enum class EnvSet : uint8_t {
  torch,
  tf,
  horovod,
  jax,
  ompi,   ///< what programs look for that ask Open MPI for their rank
  slurm,  ///< what JAX takes for a step of Slurm, and then needs no arguments
  dmlc,   ///< of ps-lite: MXNet and BytePS
  paddle,
};
using EnvSets = std::set<EnvSet>;

/// Those that do no harm to programs of other frameworks.
EnvSets default_env_sets();

/// What a word of --env-set stands for; none if it is no such word.
std::optional<EnvSets> env_sets_named(std::string_view word);
/// The words, for completions and messages.
std::vector<std::string_view> env_set_words();
/// The defaults and those of the words, which are all known; only those of the words where one of
/// them is "none", wherever it stands.
EnvSets chosen_env_sets(const std::vector<std::string_view>& words);

}  // namespace dt
