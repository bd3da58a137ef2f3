#pragma once

#include <string>
#include <string_view>

namespace dt {

/// True when `text` fits OpenSSH's pattern with * and ?, case-sensitively. The time is linear in
/// the text for each star.
bool matches_pattern(std::string_view text, std::string_view pattern);

enum class ListMatch : unsigned char { none, yes, negated };

/// Matches `text` with a comma-separated list of patterns. A match of a pattern with a leading !
/// overrides all others. Compares lower-case patterns with `text` as it is. A pattern of 1023 bytes
/// or more makes the result `none`, as in OpenSSH.
ListMatch matches_pattern_list(std::string_view text, std::string_view patterns);

bool equals_ignoring_case(std::string_view a, std::string_view b);

}  // namespace dt
