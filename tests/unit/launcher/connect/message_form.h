#pragma once

#include "base/text.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dt {

/// Returns the fault of a message for people, or nothing. A good one has one to four lines of
/// printable text, none of them endless.
inline std::string fault_of_message(std::string_view message) {
  constexpr size_t message_bytes_max = 4096;
  if (message.empty()) return "empty";
  if (message.size() > message_bytes_max) return "endless";
  if (std::ranges::count(message, '\n') >= 4) return "more than four lines";
  for (const std::string_view line : split(message, '\n')) {
    if (printable(line, message_bytes_max) != line) return "not printable";
  }
  return "";
}

}  // namespace dt
