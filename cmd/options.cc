#include "cmd/options.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench_words.h"
#include "cmd/check_words.h"
#include "cmd/completion.h"
#include "cmd/help.h"
#include "cmd/program_parts.h"
#include "cmd/run_arguments.h"
#include "launcher/config/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>

namespace dt {
namespace {

using Words = std::span<const std::string>;

bool is_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

bool is_version(std::string_view word) {
  return word == "version" || word == "--version" || word == "-v";
}

/// Returns the error for the words that CLI11 did not expect.
tl::unexpected<Error> unexpected_words(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const auto option = std::ranges::find_if(
      words, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  const bool has_option = option != words.end();
  if (!has_option) {
    return fail(Errc::input, format("{}: nothing stands there; see: dtrain help",
                                    printable(join(words, " "), 400)));
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : app.get_options())
    names.push_back(known->get_name());
  const auto guess = nearest(option->substr(0, option->find('=')), names);
  return fail(Errc::input, format("{}: no such option; {}", printable(*option, 400),
                                  guess ? format("did you mean {}?", *guess) : "see: dtrain help"));
}

/// Converts CLI11's exceptions to a Result.
Result<> parse_with(CLI::App& app, std::vector<std::string> words) {
  try {
    app.set_help_flag();
    std::ranges::reverse(words);  // CLI11 takes them from the back
    app.parse(std::move(words));
    return {};
  } catch (const CLI::ExtrasError&) {
    return unexpected_words(app);
  } catch (const CLI::Error& error) {
    return fail(Errc::input, format("{}; see: dtrain help", printable(error.what(), 400)));
  }
}

Invocation help_for(std::string_view topic) {
  Invocation invocation;
  invocation.help = help_text(topic);
  return invocation;
}

/// Returns the command for an option of `run` that only prints, such as --help.
Invocation printing(const Option& option) {
  if (option.name == "help") return help_for("run");
  Invocation invocation;
  const bool version = option.name == "version";
  invocation.command = version ? Invocation::Command::version : Invocation::Command::check_build;
  return invocation;
}

Result<Invocation> parse_run(Words words) {
  RunArguments run = TRY(read_run_arguments(words));
  TRY(split_programs(run));
  Invocation invocation;
  if (run.prints_short) {
    invocation.help = short_run_help();
    return invocation;
  }
  if (run.prints != nullptr) return printing(*run.prints);
  invocation.command = Invocation::Command::run;
  invocation.flags = std::move(run.flags);
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

std::string quoted_line(Words words) {
  std::vector<std::string> quoted(words.size());
  std::ranges::transform(words, quoted.begin(),
                         [](const std::string& word) { return shell_quote(word); });
  return printable(join(quoted, " "), 400);
}

tl::unexpected<Error> unknown_command(Words line) {
  const std::string& word = line.front();
  const std::optional<std::string> guess = nearest(word, command_names());
  return fail(Errc::input,
              format("\"{}\": no such command; {}", printable(word),
                     guess ? format("did you mean dtrain {}?", *guess)
                           : "to start a program: dtrain run -np 4 " + quoted_line(line)));
}

tl::unexpected<Error> unknown_topic(std::string_view topic) {
  std::vector<std::string> names = command_names();
  const std::optional<std::string> guess = nearest(topic, names);
  for (const std::string_view page : {"environment", "report", "toml"})
    names.emplace_back(page);
  return fail(Errc::input,
              format("no help on \"{}\"; {}", printable(topic),
                     guess ? format("did you mean dtrain help {}?", *guess)
                           : format("topics are {}, and the options of run", join(names, ", "))));
}

/// Returns the option of run with this name or spelling: timeout, --timeout or -np.
const Option* option_named(std::string_view word) {
  for (const Option& option : run_options) {
    const auto spellings = spellings_of(option);
    if (option.name == word || std::ranges::count(spellings, word) > 0) return &option;
  }
  return nullptr;
}

Result<Invocation> parse_help(Words words) {
  std::vector<std::string> plain;
  std::ranges::copy_if(words, std::back_inserter(plain), std::not_fn(is_help));
  const bool of_run = plain.size() == 2 && plain.front() == "run";
  const std::string topic = plain.empty() ? "" : plain[of_run ? 1 : 0];
  if (plain.size() > (of_run ? 2 : 1)) {
    return fail(Errc::input, format("help: one topic, not {}; see: dtrain help",
                                    printable(join(plain, " "), 400)));
  }
  const Option* option = of_run || topic.starts_with('-') ? option_named(topic) : nullptr;
  if (option != nullptr) {
    Invocation invocation;
    invocation.help = option_help(*option);
    return invocation;
  }
  if (of_run) return unknown_topic(topic);
  const std::vector<std::string> names = command_names();
  if (auto page = page_text(topic)) {
    Invocation invocation;
    invocation.help = *std::move(page);
    return invocation;
  }
  const bool known = topic.empty() || std::ranges::count(names, topic) > 0;
  if (!known) return unknown_topic(topic);
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

Result<Invocation> parse_config_show(Words words) {
  constexpr std::string_view own_flags[] = {"--origin", "--all", "--json"};
  RunArguments run = TRY(read_run_arguments(words, {.own_flags = own_flags}));
  if (run.prints != nullptr && run.prints->name == "help") return help_for("config");
  if (run.prints != nullptr) return printing(*run.prints);
  Invocation invocation;
  invocation.command = Invocation::Command::config_show;
  invocation.flags = std::move(run.flags);
  invocation.origin = std::ranges::count(run.own, "--origin") > 0;
  invocation.all = std::ranges::count(run.own, "--all") > 0;
  invocation.json = std::ranges::count(run.own, "--json") > 0;
  return invocation;
}

Result<Invocation> parse_config(Words words) {
  if (words.empty() || is_help(words[0])) return help_for("config");
  if (words[0] == "show") return parse_config_show(words.subspan(1));
  return fail(Errc::input,
              format("config: \"{}\" is not one of its commands; did you mean dtrain config show?",
                     printable(words[0])));
}

Result<Invocation> parse_check(Words words) {
  CheckWords read = TRY(read_check_words(words));
  if (read.help) return help_for("check");
  Invocation invocation;
  invocation.command = Invocation::Command::check;
  invocation.flags = std::move(read.flags);
  invocation.check = std::move(read.check);
  return invocation;
}

Result<Invocation> parse_cache(Words words) {
  if (words.empty() || is_help(words[0])) return help_for("cache");
  if (words[0] != "list" && words[0] != "clear") {
    return fail(Errc::input, format("cache: \"{}\" is not one of its commands; use list or clear",
                                    printable(words[0])));
  }
  RunArguments read =
      TRY(read_run_arguments(words.subspan(1), {.command = "cache", .takes = is_check_option}));
  if (read.prints != nullptr) return help_for("cache");
  if (!read.command.empty()) {
    return fail(Errc::input, format("cache: \"{}\" means nothing to it; hosts go behind -H",
                                    printable(read.command.front())));
  }
  Invocation invocation;
  invocation.command = Invocation::Command::cache;
  invocation.flags = std::move(read.flags);
  invocation.words = {words[0]};
  return invocation;
}

Result<Invocation> parse_bench(Words words) {
  BenchWords read = TRY(read_bench_words(words));
  if (read.help) return help_for("bench");
  Invocation invocation;
  invocation.command = Invocation::Command::bench;
  invocation.flags = std::move(read.flags);
  invocation.bench = std::move(read.bench);
  return invocation;
}

Result<Invocation> parse_ps(Words words) {
  if (std::ranges::any_of(words, is_help)) return help_for("ps");
  CLI::App app;
  Invocation invocation;
  invocation.command = Invocation::Command::ps;
  const auto* const checkpoint = app.add_option("--checkpoint", invocation.ps.checkpoint);
  const auto* const every = app.add_option("--checkpoint-every", invocation.ps.checkpoint_every);
  TRY(parse_with(app, {words.begin(), words.end()}));
  if (checkpoint->count() > 0 && invocation.ps.checkpoint.empty())
    return fail(Errc::input, "ps: --checkpoint: expected the beginning of the files' names");
  if (every->count() > 0 && invocation.ps.checkpoint_every < 1) {
    return fail(Errc::input, format("ps: --checkpoint-every: expected a number of steps from 1, "
                                    "got {}",
                                    invocation.ps.checkpoint_every));
  }
  if (every->count() > 0 && checkpoint->count() == 0)
    return fail(Errc::input, "ps: --checkpoint-every needs --checkpoint, the names of the files");
  return invocation;
}

Result<Invocation> parse_token(Words words) {
  if (std::ranges::any_of(words, is_help)) return help_for("token");
  if (!words.empty()) {
    return fail(Errc::input,
                format("token: \"{}\" means nothing to it; dtrain token prints a new token",
                       printable(words[0])));
  }
  Invocation invocation;
  invocation.command = Invocation::Command::token;
  return invocation;
}

Result<Invocation> parse_job(Words words) {
  JobWords read = TRY(read_job_words(words));
  if (read.action == JobWords::Action::help) return help_for("job");
  Invocation invocation;
  invocation.command = Invocation::Command::job;
  invocation.flags = read.flags;
  invocation.job = std::move(read);
  return invocation;
}

Result<Invocation> parse_export(Words words) {
  ExportWords read = TRY(read_export_words(words));
  if (read.target == ExportWords::Target::help) return help_for("export");
  Invocation invocation;
  invocation.command = Invocation::Command::export_job;
  invocation.flags = read.job.flags;
  invocation.exported = std::move(read);
  return invocation;
}

/// `dtrain -np 4 cmd`: an option where a command belongs.
tl::unexpected<Error> forgotten_command(Words words) {
  if (!is_run_option(words[0])) {
    return fail(Errc::input, format("{}: no such option; see: dtrain help", printable(words[0])));
  }
  return fail(Errc::input, format("{}: a command comes first; did you mean: dtrain run {}",
                                  printable(words[0]), quoted_line(words)));
}

}  // namespace

Result<Invocation> parse_command_line(const std::vector<std::string>& arguments) {
  if (arguments.empty() || is_help(arguments[0])) return help_for("");
  const Words words = Words(arguments).subspan(1);
  if (arguments[0] == "run") return parse_run(words);
  if (arguments[0] == "check") return parse_check(words);
  if (arguments[0] == "bench") return parse_bench(words);
  if (is_version(arguments[0])) return parse_version(words);
  if (arguments[0] == "cache") return parse_cache(words);
  if (arguments[0] == "ps") return parse_ps(words);
  if (arguments[0] == "token") return parse_token(words);
  if (arguments[0] == "job") return parse_job(words);
  if (arguments[0] == "export") return parse_export(words);
  if (arguments[0] == "config") return parse_config(words);
  if (arguments[0] == "completion") return parse_completion(words);
  if (arguments[0] == "help") return parse_help(words);
  // Without run it is a habit of horovodrun's users.
  if (arguments[0] == "--check-build" || arguments[0] == "-cb")
    return printing(*find_option("check-build"));
  if (arguments[0].starts_with('-')) return forgotten_command(arguments);
  return unknown_command(arguments);
}

}  // namespace dt
