#include "cmd/options.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/completion.h"
#include "cmd/help.h"
#include "launcher/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>

namespace dt {
namespace {

using Words = std::span<const std::string>;

constexpr std::string_view help_hint = "see: dtrain help run";

bool is_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

/// A word that is an option: which, how it was spelled, and a value in the same word.
struct Spelled {
  const Option* option = nullptr;
  std::string spelling;
  std::optional<std::string> value;
};

/// Whether "-np4" is -np with the value 4. Only after one dash, and numbers only where a number is
/// wanted, so that -nproc stays a slip.
bool can_attach(const Option& option, std::string_view spelling, std::string_view rest) {
  if (spelling.starts_with("--") || rest.empty()) return false;
  if (option.kind == OptionKind::integer) return rest[0] >= '0' && rest[0] <= '9';
  // -hostfileX and -hostfiles are slips; -Ha:4 and -xNAME are how short options are written.
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

std::optional<Spelled> find_spelled(std::string_view word) {
  for (const Option& option : run_options) {
    for (const std::string_view spelling : spellings_of(option)) {
      if (auto found = match(word, option, spelling)) return found;
    }
  }
  return std::nullopt;
}

tl::unexpected<Error> unknown_option(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const std::optional<OptionGuess> guess = guess_option(name);
  return fail(Errc::input,
              format("{}: no such option; {}", printable(name),
                     guess ? format("did you mean {}?", guess->spelling) : std::string(help_hint)));
}

/// `run`'s own options, each rewritten as --name and value: CLI11 refuses words such as -np.
struct RunWords {
  std::vector<std::string> options;
  std::map<std::string, std::string, std::less<>> origins;
  std::vector<std::string> command;
  bool help = false;
};

Result<RunWords> rewrite(Words words) {
  RunWords result;
  size_t i = 0;
  for (; i < words.size() && words[i].size() > 1 && words[i].starts_with('-'); ++i) {
    if (words[i] == "--") {
      ++i;
      break;
    }
    if (is_help(words[i])) {
      result.help = true;
      return result;
    }
    std::optional<Spelled> spelled = find_spelled(words[i]);
    if (!spelled) return unknown_option(words[i]);
    const Option& option = *spelled->option;
    if (option.kind == OptionKind::flag && !spelled->value) spelled->value = "true";
    if (!spelled->value) {
      if (i + 1 == words.size() || words[i + 1] == "--" || find_spelled(words[i + 1])) {
        return fail(Errc::input, format("{}: needs a value, {}; {}", spelled->spelling,
                                        option.placeholder, help_hint));
      }
      spelled->value = words[++i];
    }
    result.options.push_back(format("--{}", option.name));
    result.options.push_back(*std::move(spelled->value));
    result.origins.insert_or_assign(std::string(option.name), spelled->spelling);
  }
  result.command.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return result;
}

/// CLI11 throws; nothing leaves this function but a Result.
Result<> parse_with(CLI::App& app, std::vector<std::string> words) {
  try {
    app.set_help_flag();
    std::ranges::reverse(words);  // it takes them from the back
    app.parse(std::move(words));
    return {};
  } catch (const CLI::Error& error) {
    return fail(Errc::input, format("{}; see: dtrain help", error.what()));
  }
}

Invocation help_for(std::string_view topic) {
  Invocation invocation;
  invocation.help = help_text(topic);
  return invocation;
}

Result<Invocation> parse_run(Words words) {
  RunWords run = TRY(rewrite(words));
  if (run.help) return help_for("run");
  CLI::App app;
  for (const Option& option : run_options) {
    // Bound to no variable: CLI11's conversions give "[::1]", "{}" and "" meanings of their own.
    app.add_option("--" + std::string(option.name))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  TRY(parse_with(app, std::move(run.options)));
  Invocation invocation;
  invocation.command = Invocation::Command::run;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    invocation.flags.values.emplace(option->get_lnames()[0], option->results());
  }
  invocation.flags.origins = std::move(run.origins);
  invocation.words = std::move(run.command);
  return invocation;
}

Result<Invocation> parse_version(Words words) {
  if (std::ranges::any_of(words, is_help)) return help_for("version");
  CLI::App app;
  Invocation invocation;
  invocation.command = Invocation::Command::version;
  app.add_flag("--json", invocation.json);
  TRY(parse_with(app, {words.begin(), words.end()}));
  return invocation;
}

tl::unexpected<Error> unknown_command(std::string_view word) {
  const std::optional<std::string> guess = nearest(word, command_names());
  return fail(Errc::input, format("\"{}\": no such command; {}", printable(word),
                                  guess ? format("did you mean dtrain {}?", *guess)
                                        : "to start a program: dtrain run -np 4 " +
                                              shell_quote(printable(word))));
}

Result<Invocation> parse_help(Words words) {
  CLI::App app;
  std::string topic;
  app.add_option("topic", topic);
  std::vector<std::string> plain;
  std::ranges::copy_if(words, std::back_inserter(plain), std::not_fn(is_help));
  TRY(parse_with(app, std::move(plain)));
  const std::vector<std::string> names = command_names();
  const bool known = topic.empty() || std::ranges::count(names, topic) > 0;
  if (!known) return unknown_command(topic);
  return help_for(topic);
}

Result<Invocation> parse_completion(Words words) {
  if (std::ranges::any_of(words, is_help)) return help_for("completion");
  const std::string shells = join(completion_shells(), ", ");
  if (words.size() != 1) {
    return fail(Errc::input,
                format("completion: needs one shell ({}); see: dtrain help completion", shells));
  }
  const std::optional<std::string_view> script = completion_script(words[0]);
  if (!script) {
    return fail(Errc::input,
                format("completion: \"{}\" is no shell that dtrain knows; use one of {}",
                       printable(words[0]), shells));
  }
  Invocation invocation;
  invocation.help = *script;
  return invocation;
}

/// `dtrain -np 4 cmd`: an option where a command belongs.
tl::unexpected<Error> forgotten_command(Words words) {
  if (!find_spelled(words[0])) {
    return fail(Errc::input, format("{}: no such option; see: dtrain help", printable(words[0])));
  }
  std::vector<std::string> quoted(words.size());
  std::ranges::transform(words, quoted.begin(),
                         [](const std::string& word) { return shell_quote(word); });
  return fail(Errc::input, format("{}: a command comes first; did you mean: dtrain run {}",
                                  printable(words[0]), printable(join(quoted, " "))));
}

}  // namespace

Result<Invocation> parse_command_line(const std::vector<std::string>& arguments) {
  if (arguments.empty() || is_help(arguments[0])) return help_for("");
  const Words words = Words(arguments).subspan(1);
  if (arguments[0] == "run") return parse_run(words);
  if (arguments[0] == "version" || arguments[0] == "--version") return parse_version(words);
  if (arguments[0] == "completion") return parse_completion(words);
  if (arguments[0] == "help") return parse_help(words);
  if (arguments[0].starts_with('-')) return forgotten_command(arguments);
  return unknown_command(arguments[0]);
}

}  // namespace dt
