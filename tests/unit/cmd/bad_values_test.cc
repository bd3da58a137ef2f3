// Wrong values for every option of the table. The option's row decides which must be refused.
//
//    nothing          always, for an option that takes a value
//    huge, negative, broken UTF-8, of the wrong type
//                     where a value has a form: flags, numbers, times, choices, hosts
//                     elsewhere (files, folders, NAME[=VALUE]) any text is one, and what it names
//                     may be missing later

#include "base/format.h"
#include "cmd/options.h"
#include "launcher/config/files/load_config.h"
#include "launcher/config/options.h"
#include "launcher/report/report.h"
#include "tests/unit/launcher/connect/message_form.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

Result<RunConfig> decide(const std::vector<std::string>& words) {
  const Result<Invocation> invocation = parse_command_line(words);
  if (!invocation) return tl::unexpected(invocation.error());
  REQUIRE(invocation->command == Invocation::Command::run);
  return load_run_config(
      {.flags = invocation->flags, .command = invocation->words, .environment = {}});
}

bool has_form(const Option& option) {
  // RANK is a number among the words of a choice.
  return (option.kind != OptionKind::text && !may_repeat(option)) || option.name == "hosts" ||
         choices_of(option).size() > 1;
}

bool names(std::string_view message, const Option& option) {
  return std::ranges::any_of(spellings_of(option), [&](std::string_view spelling) {
    return message.find(spelling) != std::string_view::npos;
  });
}

Result<RunConfig> decide_check(const std::vector<std::string>& words) {
  const Result<Invocation> invocation = parse_command_line(words);
  if (!invocation) return tl::unexpected(invocation.error());
  REQUIRE(invocation->command == Invocation::Command::check);
  return load_check_config(invocation->flags, {});
}

/// `run`, the option with the value as often as it takes one, and a command.
std::vector<std::string> line_with(const Option& option, const std::string& value) {
  std::vector<std::string> words = {"run"};
  if (option.name != "np") words.insert(words.end(), {"-np", "1"});
  std::string spelled(spellings_of(option).front());
  if (option.kind == OptionKind::flag) {
    words.push_back(spelled + "=" + value);
  } else {
    words.push_back(std::move(spelled));
    words.insert(words.end(), value_count(option), value);
  }
  words.insert(words.end(), {"--", "true"});
  return words;
}

void expect_refused(const Result<RunConfig>& config, const Option& option) {
  REQUIRE_FALSE(config);
  CHECK(exit_status_of(config.error().code) == 2);
  CHECK(fault_of_message(config.error().message) == "");
  CHECK(names(config.error().message, option));
}

TEST_CASE("every option names itself when its value is wrong, and nothing starts") {
  struct Value {
    std::string what;
    std::string text;
  };
  const Value values[] = {{"empty", ""},
                          {"huge", std::string(size_t{200} << 10, 'x')},
                          {"huge number", std::string(size_t{200} << 10, '9')},
                          {"negative", "-1"},
                          {"not UTF-8", "\xff\xfe\x80"},
                          {"of the wrong type", "1.5.2 maybe"}};
  size_t refused = 0;
  for (const Option& option : run_options) {
    if (option.effect == Effect::prints) continue;
    for (const Value& value : values) {
      CAPTURE(option.name);
      CAPTURE(value.what);
      const Result<RunConfig> config = decide(line_with(option, value.text));
      if (value.text.empty() || has_form(option)) {
        expect_refused(config, option);
        ++refused;
      } else if (!config) {
        expect_refused(config, option);
      }
    }
  }
  CHECK(refused > 2 * run_options.size());
}

TEST_CASE("every option of check names itself when its value is wrong") {
  size_t refused = 0;
  for (const Option& option : run_options) {
    if (!is_check_option(option) || option.effect == Effect::prints) continue;
    for (const std::string& value : {std::string(), std::string("\xff\xfe"), std::string("-1")}) {
      CAPTURE(option.name);
      const std::string spelled = format("{}={}", spellings_of(option).front(), value);
      const Result<RunConfig> config = decide_check({"check", spelled});
      if (!value.empty() && !has_form(option) && config) continue;
      expect_refused(config, option);
      ++refused;
    }
  }
  CHECK(refused >= 2 * check_option_names.size() - 4);
}

TEST_CASE("every option that takes a value is an error when the line ends behind it") {
  for (const Option& option : run_options) {
    if (option.kind == OptionKind::flag) continue;
    CAPTURE(option.name);
    const std::string spelling(spellings_of(option).front());
    for (const std::vector<std::string>& line :
         {std::vector<std::string>{"run", spelling}, {"run", spelling, "--", "true"}}) {
      expect_refused(decide(line), option);
    }
  }
}

TEST_CASE("every option's value in a file has a type, and others are refused with their place") {
  for (const Option& option : run_options) {
    for (const std::string value : {"1979-05-27", "{ a = 1 }", "[[1]]", "nan", "\"a\\u0000b\""}) {
      const std::string text = std::string(option.name) + " = " + value;
      CAPTURE(text);
      const Result<OptionSource> source = read_toml_options(text, "dtrain.toml");
      if (source) continue;
      CHECK(fault_of_message(source.error().message) == "");
      CHECK(source.error().message.starts_with("dtrain.toml:1:1: "));
      CHECK(source.error().message.find(option.name) != std::string::npos);
    }
    CAPTURE(option.name);
    CHECK_FALSE(read_toml_options(std::string(option.name) + " = [[1]]", "dtrain.toml"));
    CHECK_FALSE(read_toml_options(std::string(option.name) + " = 1979-05-27", "dtrain.toml"));
  }
}

}  // namespace
}  // namespace dt
