#pragma once

#include <string>
#include <string_view>

namespace dt {

/// OpenSSH's patterns: * and ?, letters as they are. Linear in the text for each star.
bool matches_pattern(std::string_view text, std::string_view pattern);

enum class ListMatch : unsigned char { none, yes, negated };

/// A comma-separated list of patterns: one with a leading ! that matches decides over all others.
/// The patterns are taken in lower case, `text` as it is. A pattern of 1023 bytes or more ends the
/// match with none, as OpenSSH does.
ListMatch matches_pattern_list(std::string_view text, std::string_view patterns);

/// ASCII letters in lower case, whatever the locale.
std::string lower_case(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);

}  // namespace dt
