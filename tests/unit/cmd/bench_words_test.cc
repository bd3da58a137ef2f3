#include "cmd/bench_words.h"

#include "base/text.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Words = std::vector<std::string>;

BenchWords parsed(const Words& words) {
  auto read = read_bench_words(words);
  REQUIRE_MESSAGE(read, read.error().message);
  return *std::move(read);
}

std::string error_of(const Words& words) {
  const auto read = read_bench_words(words);
  return read ? "accepted" : read.error().message;
}

TEST_CASE("the operation may stand before, between or behind the options") {
  const Words lines[] = {{"broadcast", "-np", "2", "-b", "4K", "--json"},
                         {"-np", "2", "broadcast", "-b", "4K", "--json"},
                         {"-np2", "-b", "4K", "--json", "broadcast"},
                         {"-b4K", "-np=2", "--json", "--", "broadcast"}};
  for (const Words& line : lines) {
    CAPTURE(join(line, " "));
    const BenchWords words = parsed(line);
    CHECK(words.flags.values == OptionValues{{"np", {"2"}}});
    CHECK(words.bench == BenchOptions{.operation = BenchOperation::broadcast,
                                      .bytes_min = 4096,
                                      .format = BenchFormat::json});
  }
}

TEST_CASE("-n is the number of calls, and other options of run keep their meaning") {
  const BenchWords words = parsed({"latency", "-n", "9", "-np", "2", "-H", "a:1,b:1", "-p", "22",
                                   "-e=1M", "-w0", "--ppn", "1"});
  CHECK(words.bench.iterations == 9);
  CHECK(words.bench.bytes_max == uint64_t{1} << 20);
  CHECK(words.bench.warmups == 0);
  CHECK(words.flags.values ==
        OptionValues{{"np", {"2"}}, {"hosts", {"a:1,b:1"}}, {"ssh-port", {"22"}}, {"ppn", {"1"}}});
}

TEST_CASE("a typing error in any option is answered with that option") {
  for (const BenchOption& option : bench_options()) {
    for (const std::string_view spelling : split_words(option.spellings)) {
      if (!spelling.starts_with("--") || option.hidden) continue;
      std::string wrong(spelling);
      wrong.erase(wrong.size() - 2, 1);
      CAPTURE(wrong);
      const std::string error = error_of({"all_reduce", wrong, "1"});
      CHECK(error.starts_with(wrong + ": no such option; did you mean --"));
    }
  }
  CHECK(error_of({"all_reduce", "--buffer", "dtrain"}).starts_with("--buffer: no such option"));
  CHECK(error_of({"all_reduce", "--progress"}).starts_with("--progress: no such option"));
}

TEST_CASE("--explain needs no operation, and takes none") {
  CHECK(parsed({"--explain", "-np", "2"}).bench == BenchOptions{.explain = true});
  CHECK(error_of({"broadcast", "--explain"}) ==
        "bench: --explain is about all operations; leave out broadcast");
  for (const Words& line : {Words{"--explain", "--json"}, {"--explain", "--compare", "mpirun"}}) {
    CHECK(error_of(line) ==
          "--explain: prints a table of algorithms and measures nothing; leave out --format, "
          "--json, --csv and --compare");
  }
}

TEST_CASE("every option with a value is an error when the line ends behind it") {
  for (const BenchOption& option : bench_options()) {
    if (option.placeholder.empty() || option.hidden) continue;
    for (const std::string_view spelling : split_words(option.spellings)) {
      CAPTURE(spelling);
      for (const Words& rest : {Words{}, Words{"--json"}}) {
        Words line = {"all_reduce", std::string(spelling)};
        line.insert(line.end(), rest.begin(), rest.end());
        CHECK(error_of(line).starts_with(std::string(spelling) + ": needs a value, "));
      }
    }
  }
}

TEST_CASE("options of run that ranks of their own have no use for are refused") {
  for (const Option& option : run_options) {
    const std::string_view spelling = spellings_of(option).front();
    if (find_bench_option(spelling) != nullptr || option.effect == Effect::prints) continue;
    CAPTURE(spelling);
    Words line = {"all_reduce", std::string(spelling)};
    line.insert(line.end(), value_count(option), "v");
    const std::string error = error_of(line);
    CHECK((error == "accepted") == is_bench_option(option));
    CHECK((error == "accepted" || error.starts_with(spelling)));
  }
  for (const std::string_view name : bench_option_names)
    CHECK(find_option(name) != nullptr);
}

TEST_CASE("a second operation is an error, and so is none") {
  CHECK(error_of({"all_reduce", "-np", "2", "broadcast"}) ==
        "bench: \"broadcast\" comes after the operation all_reduce, and one is measured at a time; "
        "see: dtrain help bench");
  CHECK(error_of({"-np", "2"}).starts_with("bench: needs an operation"));
  CHECK(error_of({}).starts_with("bench: needs an operation"));
}

TEST_CASE("--help is help, wherever it is") {
  for (const Words& line : {Words{"--help"}, {"all_reduce", "-h"}, {"-np", "2", "--help"}})
    CHECK(parsed(line).help);
}

}  // namespace
}  // namespace dt
