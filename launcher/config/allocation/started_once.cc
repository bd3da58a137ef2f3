#include "launcher/config/allocation/started_once.h"

#include "base/format.h"
#include "base/text.h"

namespace dt {
namespace {

int64_t number_in(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? 0 : parse_integer(found->second).value_or(0);
}

}  // namespace

int64_t tasks_of_step(const Environment& environment) {
  return number_in(environment, "SLURM_STEP_NUM_TASKS");
}

Result<> check_single_task(const Environment& environment, bool on_terminal) {
  if (on_terminal || environment.contains("DTRAIN_ROLE")) return {};
  const int64_t tasks = tasks_of_step(environment);
  if (tasks < 2) return {};
  if (number_in(environment, "SLURM_PROCID") > 0) return fail(Errc::input, "");
  return fail(
      Errc::input,
      format("srun has started dtrain run {} times (SLURM_STEP_NUM_TASKS), and each would be a job "
             "of its own. Start it once in the batch script, without srun: dtrain run … uses all "
             "hosts of the job. For separate jobs: env -u SLURM_STEP_NUM_TASKS dtrain run "
             "--allocation none …",
             tasks));
}

}  // namespace dt
