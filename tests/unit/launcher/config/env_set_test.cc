#include "launcher/config/env_set.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("every word names sets, and \"none\" leaves the defaults out wherever it stands") {
  for (const std::string_view word : env_set_names())
    CHECK(env_sets_named(word).has_value());
  CHECK_FALSE(env_sets_named("").has_value());
  CHECK_FALSE(env_sets_named("Torch").has_value());
  const EnvSets defaults = {EnvSet::torch, EnvSet::slurm_job};
  CHECK(chosen_env_sets({}, defaults) == defaults);
  CHECK(chosen_env_sets({"none"}, defaults).empty());
  CHECK(chosen_env_sets({"tf", "none", "tf"}, defaults) == EnvSets{EnvSet::tf});
  CHECK(chosen_env_sets({"dmlc"}, defaults).size() == 3);
}

}  // namespace
}  // namespace dt
