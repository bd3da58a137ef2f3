#pragma once

#include "base/text.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dt {

/// What is wrong with a message for people, or nothing: it has one to four lines of printable text,
/// and none is endless.
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
