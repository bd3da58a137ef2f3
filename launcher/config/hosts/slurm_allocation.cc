#include "launcher/config/hosts/slurm_allocation.h"

#include "base/format.h"
#include "base/text.h"

#include <cstdint>

namespace dt {
namespace {

int64_t number_in(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? 0 : parse_integer(found->second).value_or(0);
}

/// The shell of an interactive allocation is a step, too, but with one task.
bool is_placed_task(const Environment& environment) {
  return number_in(environment, "SLURM_STEP_NUM_TASKS") > 1 || environment.contains("DTRAIN_ROLE");
}

}  // namespace

std::optional<std::string> unused_allocation_warning(const Environment& environment) {
  const auto list = environment.find("SLURM_JOB_NODELIST");
  const int64_t hosts = number_in(environment, "SLURM_JOB_NUM_NODES");
  if (list == environment.end() || hosts < 2 || is_placed_task(environment)) return std::nullopt;
  return format(
      "the Slurm allocation has {} hosts ({}), but this job runs on one; to use them all: "
      "-H \"$SLURM_JOB_NODELIST\"",
      hosts, printable(list->second));
}

}  // namespace dt
