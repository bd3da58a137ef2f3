#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns a line for each copy in these folders: its size, the day of its last use, and its file.
/// Lines for trees and objects of --sync follow. A folder that another user can fill has a line
/// instead.
std::string list_cache(const std::vector<std::string>& folders);
/// Removes the copies in these folders, trees and objects that no running job needs, and nothing
/// else. A folder that another user can fill keeps all. Returns a line for each kind in a folder.
Result<std::string> clear_cache(const std::vector<std::string>& folders);

/// Answers `dtrain cache list` or `clear` on this machine. In a job each line begins with its host.
Result<std::string> answer_cache(std::string_view verb, const Environment& environment);

/// Makes a folder for --output-dir, in which the hosts answer.
Result<std::string> make_answer_folder();
/// Returns the answers of all hosts, in the order of their ranks, and removes the folder.
std::string take_answers(const std::string& folder);

}  // namespace dt
