#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A number of each task of a role, and the variable that has it in the task's pod.
struct TaskNumber {
  std::string variable;      ///< "DTRAIN_TASK_INDEX"
  std::vector<int> numbers;  ///< by task
};

/// Returns one text for the pods of all tasks, in which Kubernetes replaces $(NAME) by the task's
/// own number. The first of several numbers that fit counts. Returns none where the texts differ in
/// another way. Requires a text for each task.
std::optional<std::string> task_pattern(const std::vector<std::string_view>& texts,
                                        const std::vector<TaskNumber>& numbers);

}  // namespace dt
