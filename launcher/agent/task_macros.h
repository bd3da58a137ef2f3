#pragma once

#include "base/environment.h"
#include "launcher/protocol/message.h"

#include <string>
#include <vector>

namespace dt {

/// Returns the command of a task. Replaces macros in the arguments that take them. Appends
/// --local_rank if the launch wants it and the task has a rank.
std::vector<std::string> command_of_task(std::vector<std::string> command, const Launch& launch,
                                         const TaskLaunch& task);
/// Returns the forwarded variables of a task, or those of its role. Replaces macros in the values
/// that the user gave.
Environment forwarded_of_task(const Launch& launch, const TaskLaunch& task);

}  // namespace dt
