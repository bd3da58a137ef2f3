#include "launcher/slurm/signal_note.h"

namespace dt {

std::optional<std::string> signal_note(const RunConfig& config, const Environment& environment) {
  const auto kind = environment.find("ENVIRONMENT");
  const bool batch = kind != environment.end() && kind->second == "BATCH";
  const bool in_step = environment.contains("SLURM_STEP_ID");
  if (config.slurm_job.empty() || config.hosts.size() != 1 || !batch || in_step ||
      !config.srun_words.empty())
    return std::nullopt;
  return "a signal before the time limit reaches a job of one node only by B:, as in "
         "--signal=B:USR1@120";
}

}  // namespace dt
