#pragma once

#include <span>
#include <string_view>

namespace dt {

/// A file of completions/.
struct CompletionScript {
  std::string_view shell;
  std::string_view text;
};
/// Returns all files. The build generates this function from completions/completion_scripts.cc.in.
std::span<const CompletionScript> completion_scripts();

}  // namespace dt
