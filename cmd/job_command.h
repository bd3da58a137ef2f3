#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "cmd/job_words.h"
#include "launcher/config/files/load_config.h"

#include <string>
#include <vector>

namespace dt {

/// Reads the job file of `dtrain job run` or `check`. Returns the request for its configuration, in
/// which the command line wins. Fails with Errc::input.
Result<RunRequest> job_request(const JobWords& words, std::vector<std::string> environment);

/// Returns the text of a job file for the job of this request, with the options of the command
/// line.
std::string effective_job_text(const RunRequest& request);

/// Returns the file of `dtrain job init`. Fails with Errc::input for words that `dtrain run`
/// refuses.
Result<std::string> initial_job_file(const JobWords& words,
                                     const std::vector<std::string>& environment);
/// Returns what `dtrain job pieces` prints.
Result<std::string> pieces_listing(const JobWords& words, const Environment& environment);
/// Writes a text to a new file, with a secret for this user alone. Fails with Errc::input where
/// there is one, or where it cannot be made.
Result<> write_new_file(const std::string& path, const std::string& text, bool is_secret = false);

}  // namespace dt
