#include "man/mdoc.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/bench_options.h"
#include "cmd/help.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("text becomes lines that no macro can be seen in") {
  struct Case {
    std::string_view text;
    std::string_view expected;
  };
  constexpr Case cases[] = {
      {"", ""},
      {"one two", "one two\n"},
      {"One. Two (three.) Four", "One.\nTwo (three.)\nFour\n"},
      {".hidden", "\\&.hidden\n"},
      {"'quoted'", "\\&'quoted'\n"},
      {"a\\b --dash…", "a\\eb \\-\\-dash...\n"},
  };
  for (const Case& one : cases)
    CHECK(mdoc_text(one.text) == one.expected);
  const std::string text = mdoc_text(join(std::vector<std::string>(60, "twelve-chars"), " "));
  for (const std::string_view line : split(text, '\n'))
    CHECK(line.size() <= 80);
}

TEST_CASE("every command is in the list of commands") {
  for (const CommandHelp& command : commands())
    CHECK(has(mdoc_commands(), format(".It Cm {}\n", command.name)));
}

TEST_CASE("every option is in the pages with its spellings, its key and its variable") {
  const std::string options = mdoc_options() + "\n";
  const std::string keys = mdoc_keys();
  for (const Option& option : run_options) {
    CAPTURE(option.name);
    for (const std::string_view spelling : spellings_of(option)) {
      const std::string flag = format("Fl {}", spelling.substr(1));
      CHECK((has(options, flag + " ") || has(options, flag + "\n")));
    }
    const bool key =
        option.in_files && (option.effect == Effect::decides || option.effect == Effect::exports);
    CHECK(has(keys, format(".It Ic {}\n", option.name)) == key);
    CHECK(has(keys, format(".Ev {}\n", variable_of(option))) == key);
  }
}

TEST_CASE("the options of check are in its page, and no others") {
  const std::string options = mdoc_check_options() + "\n";
  for (const Option& option : run_options) {
    if (option.name == "json") continue;  // check has one of its own
    CAPTURE(option.name);
    const std::string flag = format(".It Fl {}", spellings_of(option).front().substr(1));
    CHECK((has(options, flag + " ") || has(options, flag + "\n")) == is_check_option(option));
  }
  CHECK(has(options, ".It Fl -json\n"));
}

TEST_CASE("the page of bench has its options, those of run that it takes, and no hidden one") {
  const std::string own = mdoc_bench_options();
  for (const BenchOption& option : bench_options()) {
    for (const std::string_view spelling : split_words(option.spellings))
      CHECK(has(own, format("Fl {}", spelling.substr(1))) != option.hidden);
  }
  CHECK(has(own, "Cm sum | Cm prod"));
  const std::string of_run = mdoc_bench_run_options();
  for (const Option& option : run_options) {
    CAPTURE(option.name);
    const std::string flag = format(".Fl {} ", spellings_of(option).front().substr(1));
    CHECK(has(of_run, flag) == is_bench_option(option));
  }
  CHECK(of_run.ends_with(" .\n"));
}

TEST_CASE("a page is its source with the lists in their places") {
  CHECK(mdoc_page(".Os\n@COMMANDS@\nend\n") == ".Os\n" + mdoc_commands() + "end\n");
  CHECK(mdoc_page("@OPTIONS@\n@KEYS@\n") == mdoc_options() + mdoc_keys());
  CHECK(mdoc_page("@CHECK_OPTIONS@\n") == mdoc_check_options());
  CHECK(mdoc_page("@BENCH_OPTIONS@\n@BENCH_RUN_OPTIONS@\n") ==
        mdoc_bench_options() + mdoc_bench_run_options());
}

}  // namespace
}  // namespace dt
