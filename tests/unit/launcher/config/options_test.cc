#include "launcher/config/options.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

TEST_CASE("the options stand in one table whose names and spellings are all different") {
  std::vector<std::string_view> seen;
  for (const Option& option : run_options) {
    CAPTURE(option.name);
    CHECK(find_option(option.name) == &option);
    CHECK((option.kind == OptionKind::flag) == option.placeholder.empty());
    CHECK(option.help.ends_with("."));
    const bool refuses = option.effect == Effect::refuses;
    const bool exports = option.effect == Effect::exports;
    CHECK(refuses == !option.refusal.empty());
    CHECK(exports == !option.variable.empty());
    const bool answered = refuses || exports || option.effect == Effect::agrees;
    if (option.group != OptionGroup::torchrun)
      CHECK((option.group == OptionGroup::horovod) == answered);
    for (const std::string_view spelling : spellings_of(option)) {
      CHECK(std::ranges::count(seen, spelling) == 0);
      seen.push_back(spelling);
    }
  }
  CHECK(find_option("nothing") == nullptr);
  CHECK(variable_of(*find_option("start-timeout")) == "DTRAIN_OPT_START_TIMEOUT");
}

TEST_CASE("a flag's --no- spelling turns it off, unless that is its name") {
  CHECK(turns_off(*find_option("autotune"), "--no-autotune"));
  CHECK(!turns_off(*find_option("autotune"), "--autotune"));
  CHECK(!turns_off(*find_option("no-tag"), "--no-tag"));
}

TEST_CASE("lists may be given again, and nothing else") {
  for (const char* name : {"env", "hosts", "sync-exclude", "setup"})
    CHECK(may_repeat(*find_option(name)));
  for (const char* name : {"np", "sync", "sync-to", "setup-timeout"})
    CHECK(!may_repeat(*find_option(name)));
}

TEST_CASE("an unknown word finds the option that was meant") {
  const std::pair<const char*, const char*> cases[] = {{"--nproc", "-np"},
                                                       {"--num-prc", "--num-proc"},
                                                       {"--hostfiel", "--hostfile"},
                                                       {"--out", "--output-dir"},
                                                       {"--time-out", "--timeout"},
                                                       {"-hostfil", "--hostfile"},
                                                       {"--start_timeout", "--start-timeout"},
                                                       {"-q", ""},
                                                       {"--zebra", ""},
                                                       {"--", ""}};
  for (const auto& [word, meant] : cases) {
    CAPTURE(word);
    const std::optional<OptionGuess> guess = guess_option(word);
    CHECK((guess ? guess->spelling : "") == meant);
  }
}

TEST_CASE("words in small letters of a placeholder are literal values") {
  using Words = std::vector<std::string_view>;
  const std::vector<std::pair<std::string_view, Words>> cases = {
      {"none|RANK|all", {"none", "all"}},
      {"kill|continue", {"kill", "continue"}},
      {"TIME", {}},
      {"NAME[=VALUE]", {}},
      {"", {}}};
  for (const auto& [placeholder, choices] : cases) {
    CAPTURE(placeholder);
    CHECK(choices_of(Option{.name = "x", .placeholder = placeholder}) == choices);
  }
}

TEST_CASE("an abbreviation of an option of horovodrun finds it") {
  const std::pair<const char*, const char*> cases[] = {{"--slots", "slots-per-host"},
                                                       {"--min-num", "min-np"},
                                                       {"--blacklist", "blacklist-cooldown-range"},
                                                       {"--host-disc", "host-discovery-script"},
                                                       {"--elastic", "elastic-timeout"},
                                                       {"--reset", "reset-limit"},
                                                       {"--max-r", ""}};
  for (const auto& [word, name] : cases) {
    CAPTURE(word);
    const std::optional<OptionGuess> guess = abbreviated_option(word);
    CHECK((guess ? guess->option->name : "") == name);
  }
}

}  // namespace
}  // namespace dt
