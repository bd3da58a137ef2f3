#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace dt {

/// A family of variables by which the programs of a framework find their rank and peers. DTRAIN_*
/// belongs to none: every task gets it.
enum class EnvSet : uint8_t {
  torch,
  tf,
  horovod,
  jax,
  ompi,       ///< Open MPI's, which other programs read for their rank
  slurm,      ///< a step of Slurm, from which JAX needs no arguments
  slurm_job,  ///< a step of the Slurm job that has the hosts; it has no name
  dmlc,       ///< ps-lite's: MXNet and BytePS
  paddle,
};
using EnvSets = std::set<EnvSet>;

/// Returns the sets that do no harm to programs of other frameworks.
EnvSets default_env_sets();

/// Returns the sets that a name of --env-set selects; none for an unknown name.
std::optional<EnvSets> env_sets_named(std::string_view name);
/// Returns all names of --env-set, for completions and messages.
std::vector<std::string_view> env_set_names();
/// Returns `defaults` and the sets of the names; without the defaults if one of the names is
/// "none". Requires known names.
EnvSets chosen_env_sets(const std::vector<std::string_view>& names, EnvSets defaults);

}  // namespace dt
