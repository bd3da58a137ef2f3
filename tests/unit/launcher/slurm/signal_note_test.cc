#include "launcher/slurm/signal_note.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("signal_note is for batch jobs of Slurm with one node and no step") {
  RunConfig one;
  one.hosts = {{.name = "n1"}};
  one.slurm_job = "21";
  const Environment batch = {{"ENVIRONMENT", "BATCH"}};
  const auto note = signal_note(one, batch);
  REQUIRE(note);
  CHECK(note->find("--signal=B:USR1@120") != std::string::npos);

  RunConfig two = one;
  two.hosts.push_back({.name = "n2"});
  CHECK_FALSE(signal_note(two, batch));
  RunConfig by_srun = one;  // its processes are a step
  by_srun.srun_words = {"--container-image=img.sqsh"};
  CHECK_FALSE(signal_note(by_srun, batch));
  RunConfig other = one;
  other.slurm_job.clear();
  CHECK_FALSE(signal_note(other, batch));
  CHECK_FALSE(signal_note(one, {}));  // of salloc
  CHECK_FALSE(signal_note(one, {{"ENVIRONMENT", "BATCH"}, {"SLURM_STEP_ID", "0"}}));
}

}  // namespace
}  // namespace dt
