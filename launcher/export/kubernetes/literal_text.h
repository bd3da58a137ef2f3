#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Returns the text by which Kubernetes gives a container this one. In commands and in values of
/// variables it replaces $(NAME), and takes $$ for $.
std::string literal_text(std::string_view text);
std::vector<std::string> literal_texts(const std::vector<std::string>& texts);

}  // namespace dt
