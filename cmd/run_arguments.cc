#include "cmd/run_arguments.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace dt {
namespace {

std::string help_hint(const Dialect& dialect) {
  return format("see: dtrain help {}", dialect.command);
}

/// An option as typed: the option, its spelling, and the value in the same word.
struct Spelled {
  const Option* option = nullptr;
  std::string spelling;
  std::optional<std::string> value;
};

/// True when "-np4" is -np with the value 4. Only spellings with one dash can have an attached
/// value. A number must follow an option that takes one, so that -nproc stays an error.
bool can_attach(const Option& option, std::string_view spelling, std::string_view rest) {
  if (spelling.starts_with("--") || rest.empty()) return false;
  if (option.kind == OptionKind::integer) return rest[0] >= '0' && rest[0] <= '9';
  // -hostfileX and -hostfiles are errors; -Ha:4 and -xNAME are the usual form of short options.
  return option.kind != OptionKind::flag && spelling.size() == 2;
}

std::optional<Spelled> match(std::string_view word, const Option& option,
                             std::string_view spelling) {
  if (!word.starts_with(spelling)) return std::nullopt;
  const std::string_view rest = word.substr(spelling.size());
  Spelled found{&option, std::string(spelling), std::nullopt};
  if (rest.empty()) return found;
  const bool equals = rest[0] == '=';
  if (!equals && !can_attach(option, spelling, rest)) return std::nullopt;
  found.value = rest.substr(equals ? 1 : 0);
  return found;
}

/// Returns the option with the longest spelling that the word begins with: -iFILE is -i, but -input
/// would be itself.
std::optional<Spelled> find_spelled(std::string_view word) {
  std::optional<Spelled> best;
  const std::string_view beginning = word.substr(0, word.starts_with("--") ? 3 : 2);
  for (const Option& option : run_options) {
    if (option.spellings.find(beginning) == std::string_view::npos) continue;
    for (const std::string_view spelling : spellings_of(option)) {
      if (best && spelling.size() <= best->spelling.size()) continue;
      if (auto found = match(word, option, spelling)) best = std::move(found);
    }
  }
  return best;
}

/// Reads an abbreviation of an option of horovodrun, with or without a value.
std::optional<Spelled> find_abbreviated(std::string_view word) {
  const size_t equals = std::min(word.find('='), word.size());
  const auto whole = abbreviated_option(word.substr(0, equals));
  if (!whole) return std::nullopt;
  Spelled spelled{whole->option, std::string(whole->spelling), std::nullopt};
  if (equals < word.size()) spelled.value = word.substr(equals + 1);
  return spelled;
}

tl::unexpected<Error> unknown_option(std::string_view word, const Dialect& dialect) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string> own_names(dialect.own_flags.begin(), dialect.own_flags.end());
  for (const OwnOption& option : dialect.own_options)
    own_names.emplace_back(option.spelling);
  const std::optional<std::string> own = nearest(name, own_names);
  const std::optional<OptionGuess> guess = guess_option(name);
  const bool taken = guess && (dialect.takes == nullptr || dialect.takes(*guess->option));
  const std::string_view meant = own ? *own : taken ? guess->spelling : "";
  return fail(Errc::input,
              format("{}: no such option; {}", printable(name),
                     meant.empty() ? help_hint(dialect) : format("did you mean {}?", meant)));
}

tl::unexpected<Error> not_taken(const Spelled& spelled, const Dialect& dialect) {
  return fail(Errc::input, format("{}: an option of dtrain run, not of dtrain {}; {}",
                                  spelled.spelling, dialect.command, help_hint(dialect)));
}

/// Takes the own option at the front of `rest`, with its value; returns false for other words. A
/// number may follow a short spelling in the same word, as in -b8.
Result<bool> take_own(std::span<const std::string>& rest, const Dialect& dialect,
                      RunArguments& result) {
  const std::string& word = rest.front();
  for (const auto& [spelling, placeholder] : dialect.own_options) {
    if (!word.starts_with(spelling)) continue;
    std::string_view value = std::string_view(word).substr(spelling.size());
    const bool digits = !value.empty() && value[0] >= '0' && value[0] <= '9';
    const bool equals = value.starts_with('=');
    const bool attached = equals || (digits && spelling.size() == 2);
    if (!value.empty() && !attached) continue;
    const bool next = value.empty() && rest.size() > 1 && !rest[1].starts_with('-');
    if (!next && !attached) {
      return fail(Errc::input,
                  format("{}: needs a value, {}; {}", spelling, placeholder, help_hint(dialect)));
    }
    if (next) value = rest[1];
    if (equals) value.remove_prefix(1);
    result.own_values.emplace_back(spelling, value);
    rest = rest.subspan(next ? 2 : 1);
    return true;
  }
  return false;
}

/// Returns the option's values: from its own word, or from the following words, which it removes
/// from `rest`. If a following word is an option, the value is missing.
Result<std::vector<std::string>> take_values(const Spelled& spelled,
                                             std::span<const std::string>& rest,
                                             const Dialect& dialect) {
  const Option& option = *spelled.option;
  if (option.kind == OptionKind::flag) {
    const std::string_view plain = turns_off(option, spelled.spelling) ? "false" : "true";
    if (spelled.value && plain == "false") {
      return fail(Errc::input, format("{}: takes no value", spelled.spelling));
    }
    return std::vector{spelled.value.value_or(std::string(plain))};
  }
  std::vector<std::string> values;
  if (spelled.value) values.push_back(*spelled.value);
  const size_t wanted = value_count(option);
  while (values.size() < wanted && !rest.empty() && rest.front() != "--" &&
         !is_run_option(rest.front())) {
    values.push_back(rest.front());
    rest = rest.subspan(1);
  }
  if (values.size() == wanted) return values;
  return fail(Errc::input, format("{}: needs {}, {}; {}", spelled.spelling,
                                  wanted == 1 ? "a value" : format("{} values", wanted),
                                  option.placeholder, help_hint(dialect)));
}

Result<> read_into(RunArguments& result, std::span<const std::string> words,
                   const Dialect& dialect) {
  while (!words.empty() && words.front().size() > 1 && words.front().starts_with('-')) {
    if (TRY(take_own(words, dialect, result))) continue;
    const std::string& word = words.front();
    words = words.subspan(1);
    if (word == "--") {
      result.literal = true;
      break;
    }
    if (std::ranges::find(dialect.own_flags, word) != dialect.own_flags.end()) {
      result.own.push_back(word);
      continue;
    }
    std::optional<Spelled> spelled = find_spelled(word);
    if (!spelled && dialect.command == "run") spelled = find_abbreviated(word);
    if (!spelled) return unknown_option(word, dialect);
    const Option& option = *spelled->option;
    if (dialect.takes != nullptr && !dialect.takes(option)) return not_taken(*spelled, dialect);
    if (option.effect == Effect::prints) {
      if (option.name == "version" && !words.empty()) {
        return fail(Errc::input, format("{}: prints the version, and starts nothing; leave it out, "
                                        "or write --verbose for more messages",
                                        spelled->spelling));
      }
      result.prints = &option;
      result.prints_short = spelled->spelling == "-h";
      return {};
    }
    std::vector<std::string> values = TRY(take_values(*spelled, words, dialect));
    std::vector<std::string>& all = result.flags.values[std::string(option.name)];
    std::ranges::move(values, std::back_inserter(all));
    result.flags.origins.insert_or_assign(std::string(option.name), spelled->spelling);
  }
  result.command.assign(words.begin(), words.end());
  return {};
}

}  // namespace

Result<RunArguments> read_run_arguments(std::span<const std::string> words,
                                        const Dialect& dialect) {
  RunArguments result;
  TRY(read_into(result, words, dialect));
  return result;
}

OptionSource readable_options(std::span<const std::string> words) {
  RunArguments result;
  [[maybe_unused]] const Result<> refused = read_into(result, words, {});
  return std::move(result.flags);
}

bool is_run_option(std::string_view word) {
  return find_spelled(word).has_value();
}

}  // namespace dt
