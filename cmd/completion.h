#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns the shells that `dtrain completion` supports.
std::vector<std::string> completion_shells();
/// Returns the script for a shell; none for an unknown shell.
std::optional<std::string_view> completion_script(std::string_view shell);

/// Returns the output of the hidden `dtrain __complete WORD…`, from this machine's files and
/// environment.
std::string answer_completion(std::span<const std::string> words);

}  // namespace dt
