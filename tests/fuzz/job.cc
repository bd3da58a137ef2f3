// A job file, and behind a NUL a file of pieces: any texts become the options of a job that have a
// complete RunConfig, or a readable error.

#include "launcher/config/config.h"
#include "launcher/config/jobs/job_file.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dt {

void fuzz_one(ByteSpan bytes) {
  const std::string_view text = as_text(bytes);
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string pieces(text.substr(std::min(end + 1, text.size())));
  const auto read_pieces = [&pieces]() -> Result<PiecesText> {
    return PiecesText{.path = "/p/pieces.toml", .text = pieces};
  };
  if (const auto listed = list_pieces({.path = "/p/pieces.toml", .text = pieces}); !listed)
    check_message(listed.error());
  const Result<JobFile> job = read_job_file(text.substr(0, end), "folder/job.toml", read_pieces);
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
