#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// NAME or NAME=VALUE, written at `origin` ("-x", "job.env:3:1").
Result<EnvironmentSetting> parse_setting(std::string_view text, std::string origin);

/// A file of variables as `docker run --env-file` reads it: NAME=VALUE or NAME a line, the value as
/// it stands (quotes and blanks belong to it), # comments and blank lines; also CRLF and a BOM.
/// `path` names the place in errors ("job.env:3:1: …").
Result<std::vector<EnvironmentSetting>> parse_env_file(std::string_view text,
                                                       std::string_view path);

}  // namespace dt
