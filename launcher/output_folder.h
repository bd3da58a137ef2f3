#pragma once

#include "base/result.h"

#include <string>

namespace dt {

/// Refuses a folder for output in which every user of the machine can put links where our files are
/// about to be.
Result<> check_output_folder(const std::string& path);
/// Refuses a link where a task's folder belongs, which somebody may have put there before.
Result<> check_task_folder(const std::string& path);

}  // namespace dt
