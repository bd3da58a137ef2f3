#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The values of --color. With `automatic`, the environment and the terminal decide.
enum class ColorChoice : uint8_t { automatic, always, never };

/// Reads "auto", "always" or "never"; none for any other text.
std::optional<ColorChoice> parse_color_choice(std::string_view word);

/// True when text for a stream shall have colours. The first of these decides: the user's choice,
/// NO_COLOR (present and not empty), CLICOLOR_FORCE (not 0), CLICOLOR=0, TERM=dumb. At last, a
/// terminal gets colours.
bool wants_color(ColorChoice choice, const std::map<std::string, std::string>& environment,
                 bool terminal);

/// Returns `text` in an SGR colour ("31" is red), with a reset behind it. A colour that a worker
/// has never ended stops there, too.
std::string painted(std::string_view text, std::string_view sgr);

}  // namespace dt
