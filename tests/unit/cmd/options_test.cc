#include "cmd/options.h"

#include "base/text.h"
#include "cmd/help.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

using Words = std::vector<std::string>;

Invocation parsed(const Words& words) {
  Result<Invocation> invocation = parse_command_line(words);
  REQUIRE_MESSAGE(invocation, invocation.error().message);
  return *invocation;
}

std::string error_of(const Words& words) {
  const Result<Invocation> invocation = parse_command_line(words);
  return invocation ? "accepted" : invocation.error().message;
}

TEST_CASE("all spellings of -np are one option, with the value in the same word or the next") {
  const Words cases[] = {{"-np", "4"}, {"-n", "4"}, {"--np", "4"}, {"--num-proc", "4"}, {"-np4"},
                         {"-n4"},      {"-np=4"},   {"--np=4"},    {"--num-proc=4"}};
  for (const Words& words : cases) {
    CAPTURE(words[0]);
    Words line = {"run"};
    line.insert(line.end(), words.begin(), words.end());
    line.emplace_back("true");
    const Invocation run = parsed(line);
    CHECK(run.command == Invocation::Command::run);
    CHECK(run.flags.values == OptionValues{{"np", {"4"}}});
    CHECK(run.words == Words{"true"});
    const std::string typed = run.flags.origins.at("np");
    CHECK(words[0].starts_with(typed));
  }
}

TEST_CASE("values arrive as they were typed") {
  const Invocation run = parsed({"run",
                                 "-H",
                                 "[::1]",
                                 "-Ha:1,b:2",
                                 "-x",
                                 "A=1 2",
                                 "-xB",
                                 "--env=",
                                 "-x",
                                 "{}",
                                 "-np",
                                 "-1",
                                 "--chdir=/x",
                                 "-hostfile",
                                 "h",
                                 "--oversubscribe",
                                 "--quiet=false",
                                 "--grace",
                                 "-5",
                                 "cmd"});
  CHECK(run.flags.values == OptionValues{{"hosts", {"[::1]", "a:1,b:2"}},
                                         {"env", {"A=1 2", "B", "", "{}"}},
                                         {"np", {"-1"}},
                                         {"chdir", {"/x"}},
                                         {"hostfile", {"h"}},
                                         {"oversubscribe", {"true"}},
                                         {"quiet", {"false"}},
                                         {"grace", {"-5"}}});
  CHECK(run.flags.origins.at("hostfile") == "-hostfile");
  CHECK(run.flags.origins.at("hosts") == "-H");
}

TEST_CASE("every option of the table is known under every spelling") {
  for (const Option& option : run_options) {
    for (const std::string_view spelling : spellings_of(option)) {
      CAPTURE(spelling);
      if (option.effect == Effect::prints) {
        CHECK(parsed({"run", std::string(spelling)}).command != Invocation::Command::run);
        continue;
      }
      const bool flag = option.kind == OptionKind::flag;
      const Words values(value_count(option), "v");
      Words line = {"run", std::string(spelling)};
      line.insert(line.end(), values.begin(), values.end());
      line.emplace_back("true");
      const Invocation run = parsed(line);
      const Words expected = !flag ? values : Words{turns_off(option, spelling) ? "false" : "true"};
      CHECK(run.flags.values == OptionValues{{std::string(option.name), expected}});
      CHECK(run.words == Words{"true"});
    }
  }
}

TEST_CASE("everything from the command's first word on belongs to the command") {
  struct Case {
    Words line;
    Words words;
  };
  const Case cases[] = {
      {{"run", "-np", "2", "cmd", "--help", "-np", "8", "--", "-x"},
       {"cmd", "--help", "-np", "8", "--", "-x"}},
      {{"run", "-np", "2", "--", "-odd", "--quiet"}, {"-odd", "--quiet"}},
      {{"run", "--", "cmd", "--", "a"}, {"cmd", "--", "a"}},
      {{"run", "-np", "2"}, {}},
      {{"run", "-np", "2", "--"}, {}},
      {{"run", "-np", "2", "-"}, {"-"}},
      {{"run", "-np", "2", ""}, {""}},
      {{"run", "run", "version"}, {"run", "version"}},
  };
  for (const Case& c : cases) {
    CAPTURE(join(c.line, " "));
    CHECK(parsed(c.line).words == c.words);
  }
}

TEST_CASE("a unique beginning of an option of horovodrun is that option, as with argparse") {
  const auto values = [](const Words& words) { return parsed(words).flags.values; };
  CHECK(values({"run", "--num-p", "2", "x"}) == OptionValues{{"np", {"2"}}});
  CHECK(values({"run", "--start-time=5", "x"}) == OptionValues{{"start-timeout", {"5"}}});
  CHECK(values({"run", "--timeline-file", "f", "x"}) == OptionValues{{"timeline-filename", {"f"}}});
  CHECK(values({"run", "--slots", "4", "x"}) == OptionValues{{"slots-per-host", {"4"}}});
  // These begin several options, or one that horovodrun does not have.
  for (const char* const word : {"--ssh-p", "--timeline", "--strateg", "--ps-m"}) {
    CAPTURE(word);
    CHECK(error_of({"run", word, "1", "x"}).starts_with(std::string(word) + ": no such option"));
  }
}

TEST_CASE("B15: an unknown or incomplete option is refused, with the probable option") {
  struct Case {
    Words line;
    std::string message;
  };
  const Case cases[] = {
      {{"run", "--nproc", "4", "cmd"}, "--nproc: no such option; did you mean -np?"},
      {{"run", "-nproc", "4", "cmd"}, "-nproc: no such option; did you mean -np?"},
      {{"run", "--nproc=4", "cmd"}, "--nproc: no such option; did you mean -np?"},
      {{"run", "--hostfiel", "h"}, "--hostfiel: no such option; did you mean --hostfile?"},
      {{"run", "--zebra"}, "--zebra: no such option; see: dtrain help run"},
      {{"run", "-np"}, "-np: needs a value, N; see: dtrain help run"},
      {{"run", "-np", "--", "cmd"}, "-np: needs a value, N; see: dtrain help run"},
      {{"run", "-np", "-H", "a:1"}, "-np: needs a value, N; see: dtrain help run"},
      {{"run", "--hostfile"}, "--hostfile: needs a value, FILE; see: dtrain help run"},
      {{"run", "--blacklist-cooldown-range", "1", "-np", "2"},
       "--blacklist-cooldown-range: needs 2 values, MIN MAX; see: dtrain help run"},
      {{"run", "--no-autotune=false"}, "--no-autotune: takes no value"},
      {{"run", "--no-overlap"}, "--no-overlap: no such option; see: dtrain help run"},
      {{"run", "--help-all"}, "--help-all: no such option; did you mean --help?"},
      {{"-np", "4", "echo", "a b"},
       "-np: a command comes first; did you mean: dtrain run -np 4 echo 'a b'"},
      {{"--zebra"}, "--zebra: no such option; see: dtrain help"},
      {{"rum", "-np", "4"}, "\"rum\": no such command; did you mean dtrain run?"},
      {{"python", "a.py"},
       "\"python\": no such command; to start a program: dtrain run -np 4 python a.py"},
      {{"help", "vresion"}, "no help on \"vresion\"; did you mean dtrain help version?"},
      {{"help", "exit"},
       "no help on \"exit\"; topics are run, job, export, check, bench, ps, token, config, cache, "
       "completion, "
       "version, "
       "help, environment, report, toml, and the options of run"},
      {{"ps", "--checkpont", "x"}, "--checkpont: no such option; did you mean --checkpoint?"},
      {{"version", "now"}, "now: nothing stands there; see: dtrain help"},
      {{"run", "-np", "2", "-v", "false"},
       "-v: prints the version, and starts nothing; leave it out, or write --verbose for more "
       "messages"},
  };
  for (const Case& c : cases) {
    CAPTURE(join(c.line, " "));
    CHECK(error_of(c.line) == c.message);
  }
  CHECK(error_of({"version", "--jason"}) == "--jason: no such option; did you mean --json?");
  CHECK(error_of({"help", "check", "twice"}).ends_with("see: dtrain help"));
  CHECK(parsed({"help", "run", "timeout"}).help == parsed({"help", "--timeout"}).help);
  CHECK(parsed({"help", "-np"}).help.starts_with("  -np, -n"));
}

TEST_CASE("version and help are found under their usual names") {
  CHECK(parsed({"version"}).command == Invocation::Command::version);
  CHECK(parsed({"--version"}).command == Invocation::Command::version);
  CHECK(!parsed({"version"}).json);
  CHECK(parsed({"version", "--json"}).json);
  for (const Words& words : {Words{}, {"help"}, {"--help"}, {"-h"}, {"help", "help"}}) {
    CHECK(parsed(words).command == Invocation::Command::help);
    CHECK(parsed(words).help == help_text(""));
  }
  for (const Words& words :
       {Words{"help", "run"}, {"run", "--help"}, {"run", "-np", "4", "--help"}}) {
    CHECK(parsed(words).help == help_text("run"));
  }
  CHECK(parsed({"version", "--help"}).help == help_text("version"));
}

TEST_CASE("-h of run shows common options on one screen, and names the long form") {
  const std::string help = parsed({"run", "-np", "4", "-h"}).help;
  CHECK(help.ends_with("\ndtrain run --help: all options\n"));
  const std::vector<std::string_view> lines = split(help, '\n');
  CHECK(lines.size() <= 40);
  size_t options = 0;
  for (const std::string_view line : lines) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    if (!line.starts_with("  -")) continue;
    const std::string_view word = split_words(line).front();
    CHECK(std::ranges::any_of(run_options, [word](const Option& option) {
      return std::ranges::count(spellings_of(option), word) == 1;
    }));
    ++options;
  }
  CHECK(options > 10);
}

TEST_CASE("--version and --check-build of run print and start nothing") {
  for (const char* word : {"-v", "--version"}) {
    CHECK(parsed({"run", "-np", "2", word}).command == Invocation::Command::version);
  }
  for (const char* word : {"-cb", "--check-build"}) {
    CHECK(parsed({"run", "-np", "2", word}).command == Invocation::Command::check_build);
    CHECK(parsed({word}).command == Invocation::Command::check_build);
  }
}

TEST_CASE("a value that looks like an option is taken where it is attached") {
  const Invocation run = parsed({"run", "--chdir=--quiet", "-x--A=1", "--hosts=", "cmd"});
  CHECK(run.flags.values ==
        OptionValues{{"chdir", {"--quiet"}}, {"env", {"--A=1"}}, {"hosts", {""}}});
}

TEST_CASE("config show takes run's words and its own flags between them") {
  const Invocation show =
      parsed({"config", "show", "-np", "4", "--origin", "--chdir", "--all", "cmd", "--json"});
  CHECK(show.command == Invocation::Command::config_show);
  CHECK(show.flags.values == OptionValues{{"np", {"4"}}, {"chdir", {"--all"}}});
  CHECK(show.origin);
  CHECK_FALSE(show.all);
  CHECK_FALSE(show.json);
  CHECK(parsed({"config", "show", "--json", "--all"}).json);
  for (const Words& words :
       {Words{"config"}, {"config", "--help"}, {"config", "show", "-h"}, {"help", "config"}}) {
    CHECK(parsed(words).help == help_text("config"));
  }
  CHECK(error_of({"config", "shw"}) ==
        "config: \"shw\" is not one of its commands; did you mean dtrain config show?");
  CHECK(error_of({"config", "show", "--orign"}) ==
        "--orign: no such option; did you mean --origin?");
}

TEST_CASE("check takes the options for hosts and connections, and a command behind --") {
  const Invocation check =
      parsed({"check", "-H", "a:1", "--json", "-p", "22", "--connect-timeout=2s", "--verbose"});
  CHECK(check.command == Invocation::Command::check);
  CHECK(check.check.json);
  CHECK(check.flags.values == OptionValues{{"hosts", {"a:1"}},
                                           {"ssh-port", {"22"}},
                                           {"connect-timeout", {"2s"}},
                                           {"verbose", {"true"}}});
  CHECK(parsed({"check"}).check == CheckOptions());
  for (const std::string_view name : check_option_names)
    CHECK(find_option(name) != nullptr);
  for (const Option& option : run_options) {
    if (option.name == "json") continue;  // check has one of its own
    for (const std::string_view spelling : spellings_of(option)) {
      CAPTURE(spelling);
      Words line = {"check", std::string(spelling)};
      line.insert(line.end(), value_count(option), "v");
      const std::string error = error_of(line);
      CHECK((error == "accepted") == is_check_option(option));
      CHECK((error == "accepted" || error.starts_with(spelling)));
    }
  }
  for (const Words& words : {Words{"check", "-h"}, {"check", "--help"}, {"help", "check"}}) {
    CHECK(parsed(words).help == help_text("check"));
  }
  for (const Words& words : {Words{"check", "python"}, {"check", "-H", "a", "python", "--", "x"}})
    CHECK(error_of(words).starts_with("check: starts no command, so \"python\" means nothing"));
}

TEST_CASE("bench has its own options, and the options of run that its ranks need") {
  const Invocation bench = parsed({"bench", "all_gather", "-np", "3", "-n", "7", "--csv"});
  CHECK(bench.command == Invocation::Command::bench);
  CHECK(bench.flags.values == OptionValues{{"np", {"3"}}});
  CHECK(bench.bench == BenchOptions{.operation = BenchOperation::all_gather,
                                    .iterations = 7,
                                    .format = BenchFormat::csv});
  for (const Words& words :
       {Words{"bench", "-h"}, {"bench", "all_reduce", "--help"}, {"help", "bench"}}) {
    CHECK(parsed(words).help == help_text("bench"));
  }
  CHECK(error_of({"bench"}).starts_with("bench: needs an operation"));
  for (const BenchOption& option : bench_options()) {
    const bool shown =
        help_text("bench").find(split_words(option.spellings).front()) != std::string::npos;
    CHECK(shown != option.hidden);
  }
}

TEST_CASE("help fits into 80 columns, has an example and names every option and command") {
  for (const std::string topic : {"", "run", "check", "bench", "config", "version", "help"}) {
    CAPTURE(topic);
    const std::string text = help_text(topic);
    CHECK(text.find("example") != std::string::npos);
    CHECK(text.ends_with("\n"));
    for (const std::string_view line : split(text, '\n')) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK(!line.ends_with(' '));
    }
  }
  for (const Option& option : run_options) {
    for (const std::string_view spelling : spellings_of(option)) {
      CHECK(help_text("run").find(spelling) != std::string::npos);
    }
  }
  for (const std::string& name : command_names()) {
    CHECK(help_text("").find("  " + name) != std::string::npos);
  }
}

}  // namespace
}  // namespace dt
