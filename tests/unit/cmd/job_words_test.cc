#include "cmd/job_words.h"

#include <doctest/doctest.h>

#include <utility>

namespace dt {
namespace {

using Line = std::vector<std::string>;

TEST_CASE("dtrain job takes an action, a file, options of run around it, and a command") {
  const JobWords run = read_job_words(Line{"run", "-x", "A=1", "a.toml", "-x", "B=2", "--timeout",
                                           "2h", "--", "./x", "--np"})
                           .value();
  CHECK(run.action == JobWords::Action::run);
  CHECK(run.file == "a.toml");
  CHECK(run.flags.values == OptionValues{{"env", {"A=1", "B=2"}}, {"timeout", {"2h"}}});
  CHECK(run.flags.origins.at("timeout") == "--timeout");
  CHECK(run.command == Line{"./x", "--np"});
  CHECK_FALSE(run.detach);
  CHECK(read_job_words(Line{"run", "a.toml", "-d"}).value().detach);
  const JobWords logs = read_job_words(Line{"logs", "-f"}).value();
  CHECK(logs.action == JobWords::Action::kept);
  CHECK(logs.kept.follow);
  const JobWords check = read_job_words(Line{"check", "a.toml", "--connect", "--json"}).value();
  CHECK(check.action == JobWords::Action::check);
  CHECK(check.connect);
  CHECK(check.flags.values == OptionValues{{"json", {"true"}}});
  const JobWords init =
      read_job_words(Line{"init", "-o", "b.toml", "--", "dtrain", "run", "-np", "2", "./x", "-o"})
          .value();
  CHECK(init.action == JobWords::Action::init);
  CHECK(init.file == "b.toml");
  CHECK(init.flags.values == OptionValues{{"np", {"2"}}});
  CHECK(init.command == Line{"./x", "-o"});
  CHECK(read_job_words(Line{"run", "a.toml", "--pieces", "p.toml"}).value().pieces == "p.toml");
  const JobWords pieces = read_job_words(Line{"pieces", "--json", "--pieces", "p.toml"}).value();
  CHECK(pieces.action == JobWords::Action::pieces);
  CHECK(pieces.json);
  CHECK(pieces.pieces == "p.toml");
  for (const Line& line : {Line{}, Line{"--help"}, Line{"run", "-h"}, Line{"check", "a", "--help"},
                           Line{"init", "--help"}})
    CHECK(read_job_words(line).value().action == JobWords::Action::help);
}

TEST_CASE("wrong words of dtrain job get a sentence") {
  const std::pair<Line, std::string> cases[] = {
      {{"rn"}, "job: \"rn\" is not one of its commands; did you mean dtrain job run?"},
      {{"begin"},
       "job: \"begin\" is not one of its commands; they are run, check, init, pieces, list, "
       "status, "
       "logs, stop, wait, rm"},
      {{"run"}, "job run: which file? write: dtrain job run FILE"},
      {{"check", "--", "x"}, "job check: which file? write: dtrain job check FILE"},
      {{"run", "a.toml", "./x"},
       "job: \"./x\" means nothing to it; a command that replaces the file's goes behind --"},
      {{"run", "a.toml", "--connect"},
       "--connect: no such option; did you mean --connect-timeout?"},
      {{"run", "a.toml", "--timeot", "1"}, "--timeot: no such option; did you mean --timeout?"},
      {{"init", "-np", "2", "./x"},
       "-np: an option of dtrain run, not of dtrain job; see: dtrain "
       "help job"},
      {{"init", "-o", "x"},
       "job init: needs the words of a dtrain run behind --; write: dtrain job "
       "init -- -np 4 python train.py"},
      {{"pieces", "x"},
       "job pieces: \"x\" means nothing to it; write: dtrain job pieces --pieces FILE"},
      {{"pieces", "-np", "2"},
       "-np: an option of dtrain run, not of dtrain job; see: dtrain help job"},
      {{"init", "-o"}, "-o: needs a value, FILE; see: dtrain help job"},
  };
  for (const auto& [line, message] : cases) {
    const auto read = read_job_words(line);
    REQUIRE_FALSE(read);
    CHECK(read.error().message == message);
  }
}

TEST_CASE("options stand before and behind the file, and those of the command win where they are") {
  constexpr std::array<std::string_view, 1> flags = {"--own"};
  constexpr std::array<OwnOption, 1> options = {OwnOption{"-o", "FILE"}};
  const Dialect dialect = {.command = "job", .own_flags = flags, .own_options = options};
  const Line line = {"-o", "1", "-x", "A=1", "f", "-x", "B=2", "--own", "-o", "2", "--", "c"};
  const FileWords words = read_file_words(line, dialect, "job x").value();
  CHECK(words.file == "f");
  CHECK(words.flags.values == OptionValues{{"env", {"A=1", "B=2"}}});
  CHECK(words.own == Line{"--own"});
  REQUIRE(words.own_values.size() == 2);
  CHECK(words.own_values[1].second == "2");
  CHECK(words.command == Line{"c"});
  CHECK(read_file_words(Line{"--help"}, dialect, "job x")->help);
  CHECK(read_file_words(Line{"f", "--help"}, dialect, "job x")->help);
  CHECK(read_file_words(Line{"--", "f"}, dialect, "job x").error().message ==
        "job x: which file? write: dtrain job x FILE");
}

}  // namespace
}  // namespace dt
