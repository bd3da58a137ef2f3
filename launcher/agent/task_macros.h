#pragma once

#include "base/environment.h"
#include "launcher/protocol/message.h"

#include <string>
#include <vector>

namespace dt {

// What an agent makes of the user's words and values for one of its tasks.

/// The command with the macros replaced in the words that take them, and with the local rank behind
/// it where that is wanted and the task has one.
std::vector<std::string> command_of_task(std::vector<std::string> command, const Launch& launch,
                                         const TaskLaunch& task);
/// Launch::travelling, or what travels for its role, with macros replaced in the values that the
/// user gave.
Environment travelling_of_task(const Launch& launch, const TaskLaunch& task);

}  // namespace dt
