#pragma once

#include <charconv>
#include <string_view>

/// Returns the number with which a text begins; 0: it begins with none.
inline long number(std::string_view text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
