#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns why srun cannot start agents with these words of a user. None: it can. Options of which
/// the step depends are refused, also in their short and shortened forms.
std::optional<std::string> srun_words_fault(const std::vector<std::string>& words);

/// True for words that start each task in a container, as the options of pyxis do.
bool choose_container(const std::vector<std::string>& words);

}  // namespace dt
