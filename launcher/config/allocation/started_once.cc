#include "launcher/config/allocation/started_once.h"

#include "base/format.h"
#include "base/text.h"

#include <cstdint>

namespace dt {
namespace {

int64_t number_in(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? 0 : parse_integer(found->second).value_or(0);
}

}  // namespace

Result<> check_single_task(const Environment& environment, bool on_terminal) {
  if (on_terminal || environment.contains("DTRAIN_ROLE")) return {};
  const int64_t tasks = number_in(environment, "SLURM_STEP_NUM_TASKS");
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

Result<> check_single_node(const Environment& environment, bool names_hosts) {
  const auto given = environment.find("PET_NNODES");
  if (names_hosts || given == environment.end() || environment.contains("DTRAIN_ROLE")) return {};
  // torchrun's form: "2", or "1:4" for an elastic job.
  const int64_t nodes = parse_integer(split(given->second, ':').back()).value_or(0);
  if (nodes < 2) return {};
  return fail(
      Errc::input,
      format("PET_NNODES={}: torchrun would be started once on each node, and dtrain run is "
             "started once for all of them. Start it on one node, with -H HOST,HOST,…, or "
             "unset PET_NNODES for a job on this node alone",
             printable(given->second)));
}

}  // namespace dt
