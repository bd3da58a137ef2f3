// A job file: any text becomes the options of a job that have a complete RunConfig, or a readable
// error.

#include "launcher/config/config.h"
#include "launcher/config/jobs/job_file.h"
#include "tests/fuzz/fuzz.h"

namespace dt {

void fuzz_one(ByteSpan bytes) {
  const Result<JobFile> job = read_job_file(as_text(bytes), "folder/job.toml");
  if (!job) return check_message(job.error());
  assert(job->options.values.contains("name"));
  const auto config =
      make_run_config({job->options}, job->command, [](const std::string&) -> Result<std::string> {
        return std::string("a slots=2\nb slots=2\n");
      });
  if (!config) return check_message(config.error());
  assert(task_count(config->roles) != 0 || !config->hosts.empty());
}

}  // namespace dt
