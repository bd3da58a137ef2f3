#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns the folders in which hosts keep copies of dtrain: in the home, the runtime folder, /tmp.
std::vector<std::string> cache_folders(const Environment& environment);

/// Returns a line for each copy in these folders: its size, the day of its last use, and its file.
std::string list_cache(const std::vector<std::string>& folders);
/// Removes the copies in these folders, and nothing else. Returns a line for each folder.
Result<std::string> clear_cache(const std::vector<std::string>& folders);

/// Answers `dtrain cache list` or `clear` on this machine. In a job each line begins with its host.
Result<std::string> answer_cache(std::string_view verb, const Environment& environment);

}  // namespace dt
