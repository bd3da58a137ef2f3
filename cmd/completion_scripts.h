#pragma once

#include <span>
#include <string_view>

namespace dt {

/// A file of completions/.
struct CompletionScript {
  std::string_view shell;
  std::string_view text;
};
/// All of them, as the build found them: completions/completion_scripts.cc.in becomes this.
std::span<const CompletionScript> completion_scripts();

}  // namespace dt
