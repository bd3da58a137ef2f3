#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// --color: by itself, `automatic` asks the environment and the terminal.
enum class ColorChoice : uint8_t { automatic, always, never };

/// "auto", "always" or "never"; none for another word.
std::optional<ColorChoice> parse_color_choice(std::string_view word);

/// Whether text for a stream shall have colours. A choice that a person typed stands above all;
/// then NO_COLOR (present and not empty), CLICOLOR_FORCE (not 0), CLICOLOR=0 and TERM=dumb count in
/// this order, and at last whether the stream is a terminal.
bool wants_color(ColorChoice choice, const std::map<std::string, std::string>& environment,
                 bool terminal);

/// `text` in an SGR colour ("31" is red). What was in force before it is not after it: a worker's
/// colour that was never ended stops here.
std::string painted(std::string_view text, std::string_view sgr);

}  // namespace dt
