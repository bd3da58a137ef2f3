#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The shells that `dtrain completion` knows.
std::vector<std::string> completion_shells();
/// The script that a shell reads once; none for a shell that we do not know.
std::optional<std::string_view> completion_script(std::string_view shell);

/// What the hidden `dtrain __complete WORD…` prints, from the files and the environment around us.
std::string answer_completion(std::span<const std::string> words);

}  // namespace dt
