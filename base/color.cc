#include "base/color.h"

#include "base/format.h"

namespace dt {
namespace {

std::string_view value_of(const std::map<std::string, std::string>& environment,
                          const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : found->second;
}

}  // namespace

std::optional<ColorChoice> parse_color_choice(std::string_view word) {
  if (word == "auto") return ColorChoice::automatic;
  if (word == "always") return ColorChoice::always;
  if (word == "never") return ColorChoice::never;
  return std::nullopt;
}

bool wants_color(ColorChoice choice, const std::map<std::string, std::string>& environment,
                 bool terminal) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!value_of(environment, "NO_COLOR").empty()) return false;
  const std::string_view force = value_of(environment, "CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  if (value_of(environment, "CLICOLOR") == "0") return false;
  return terminal && value_of(environment, "TERM") != "dumb";
}

std::string painted(std::string_view text, std::string_view sgr) {
  return format("\x1b[0;{}m{}\x1b[0m", sgr, text);
}

}  // namespace dt
