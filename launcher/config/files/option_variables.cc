#include "base/environment.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_source.h"
#include "launcher/config/options.h"

#include <algorithm>

namespace dt {

Result<OptionSource> read_environment_options(const std::vector<std::string>& environment) {
  constexpr std::string_view prefix = "DTRAIN_OPT_";
  OptionSource options;
  for (const auto& [variable, value] : parse_environment(environment)) {
    if (!variable.starts_with(prefix) || value.empty()) continue;
    const auto option = std::ranges::find(run_options, variable, variable_of);
    if (option == run_options.end()) {
      std::string word = variable.substr(prefix.size());
      std::ranges::transform(word, word.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
      });
      const std::optional<OptionGuess> guess = guess_option(word);
      return fail(Errc::input,
                  format("{}: no such option{}", printable(variable),
                         guess ? format("; did you mean {}?", variable_of(*guess->option)) : ""));
    }
    if (option->effect == Effect::prints) {
      return fail(Errc::input, format("{}: this option belongs on the command line: {}", variable,
                                      spellings_of(*option).back()));
    }
    std::vector<std::string> values = {value};
    if (may_repeat(*option)) {
      std::vector<std::string_view> parts =
          option->kind == OptionKind::lines ? split(value, '\n') : split_words(value);
      std::erase_if(parts, [](std::string_view part) { return trim(part).empty(); });
      values.assign(parts.begin(), parts.end());
    }
    options.values.emplace(option->name, std::move(values));
    options.origins.emplace(option->name, variable);
  }
  return options;
}

}  // namespace dt
