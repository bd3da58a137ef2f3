#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Parses NAME or NAME=VALUE, written at `origin` ("-x", "job.env:3:1").
Result<EnvironmentSetting> parse_setting(std::string_view text, std::string origin);

/// Parses a file of variables as `docker run --env-file` does, with NAME=VALUE or NAME a line.
/// Quotes and blanks belong to the value. Comments with #, blank lines, CRLF and a BOM are allowed.
/// `path` names the place in errors ("job.env:3:1: …").
Result<std::vector<EnvironmentSetting>> parse_env_file(std::string_view text,
                                                       std::string_view path);

}  // namespace dt
