#include "cmd/options.h"
#include "launcher/config/options.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/plan.h"
#include "launcher/report/report.h"
#include "tests/unit/launcher/connect/message_form.h"

#include <doctest/doctest.h>

#include <random>
#include <span>

namespace dt {
namespace {

/// Lines of the table's words, good and bad values and junk, from one seed.
class LineWriter {
 public:
  std::vector<std::string> line() {
    std::vector<std::string> words = {chance(90) ? "run" : word()};
    if (chance(70)) words.insert(words.end(), {"-np", "2"});
    for (size_t options = number(5); options > 0; --options)
      add_option(words);
    if (chance(30)) words.emplace_back("--");
    if (chance(80)) words.emplace_back("true");
    if (chance(10)) words.push_back(word());
    return words;
  }

 private:
  size_t number(size_t below) {
    return std::uniform_int_distribution<size_t>(0, below - 1)(random_);
  }
  bool chance(size_t percent) { return number(100) < percent; }
  template <size_t N>
  std::string one_of(const char* const (&all)[N]) {
    return all[number(N)];
  }

  void add_option(std::vector<std::string>& words) {
    const Option& option = chance(70) ? own_options[number(own_options.size())]
                                      : run_options[number(run_options.size())];
    const std::vector<std::string_view> spellings = spellings_of(option);
    const std::string spelling(spellings[number(spellings.size())]);
    const std::string value = chance(85) ? good_value(option) : word();
    if (option.kind == OptionKind::flag && !chance(10)) {
      words.push_back(spelling);
    } else if (chance(30)) {
      words.push_back(spelling + (chance(80) ? "=" : "") + value);
    } else {
      words.push_back(spelling);
      if (!chance(5)) words.insert(words.end(), value_count(option), value);
    }
  }

  std::string good_value(const Option& option) {
    const std::vector<std::string_view> choices = choices_of(option);
    switch (option.kind) {
      case OptionKind::flag:
        return one_of({"true", "false", "yes", "0"});
      case OptionKind::integer:
      case OptionKind::number:
        return std::to_string(1 + number(8));
      case OptionKind::duration:
        return one_of({"10", "500ms", "1.5s", "2m", "1h"});
      case OptionKind::list:
        if (option.name == "env") return one_of({"A=1", "HOME", "B="});
        if (option.name == "role") return one_of({"chief=1,ps=1", "worker=2", "ps=1@localhost:2"});
        if (option.name.starts_with("role-")) return one_of({"ps=true", "worker=A=1", "ps"});
        return one_of({"localhost:4", "127.0.0.1:2", "localhost,::1"});
      case OptionKind::lines:
        return one_of({"true", "echo a b", "make; make install"});
      case OptionKind::text:
        break;
    }
    if (!choices.empty()) return std::string(choices[number(choices.size())]);
    return one_of({"file", "/tmp", "0", "."});
  }

  std::string word() {
    if (chance(30)) return junk();
    return one_of({"",
                   "-",
                   "--",
                   "-1",
                   "0",
                   "65536",
                   "99999999999999999999",
                   "a:4",
                   "a:0,b",
                   "[::1]:2",
                   "node[1-99]:8",
                   "@file",
                   "=",
                   "a=b",
                   "-np",
                   "--nproc=2",
                   "-H",
                   "help",
                   "version",
                   "--help",
                   "agent",
                   "completion",
                   "\xff\xfe",
                   "\n",
                   "$(id)",
                   "ä",
                   "nan",
                   "1e999",
                   "true",
                   "%s%n",
                   "--no-",
                   "-x"});
  }

  std::string junk() {
    std::string text(1 + number(chance(2) ? 100'000 : 12), '\0');
    // argv holds any byte but NUL.
    for (char& c : text)
      c = static_cast<char>(1 + number(255));
    return text;
  }

  std::mt19937 random_{20240229};
};

/// Returns "run", "help", … when the line is valid, by the steps of main(); else the error.
Result<std::string> go_through(const std::vector<std::string>& words) {
  const Invocation invocation = TRY(parse_command_line(words));
  if (invocation.command != Invocation::Command::run) return std::string("help");
  const RunConfig config = TRY(make_run_config(
      {invocation.flags}, invocation.words, [](const std::string& path) -> Result<std::string> {
        if (path == "file") return std::string("localhost slots=4\n");
        return fail(Errc::not_found, "No such file or directory");
      }));
  const ResolvedHosts resolved = TRY(resolve_hosts(config, {"node7"}));
  const std::vector<HostResources> resources(
      resolved.hosts.size(), HostResources{.topology = {.cores = {{{0}, 0}, {{1}, 0}}}});
  const Plan plan = TRY(job_plan(config, resolved, resources));
  TRY(check_targets(config, plan));
  return std::string("run");
}

TEST_CASE("10,000 random command lines are understood or refused with a message") {
  constexpr int lines = 10'000;
  LineWriter writer;
  int runs = 0;
  int refusals = 0;
  for (int i = 0; i < lines; ++i) {
    const std::vector<std::string> words = writer.line();
    const Result<std::string> gone = go_through(words);
    if (gone) {
      runs += *gone == "run" ? 1 : 0;
      continue;
    }
    ++refusals;
    const std::string fault = fault_of_message(gone.error().message);
    const int status = exit_status_of(gone.error().code);
    if (fault.empty() && (status == 2 || status == 3)) continue;
    CAPTURE(printable(join(words, " "), 1000));
    CAPTURE(printable(gone.error().message, 5000));
    CHECK(fault == "");
    CHECK(status == 2);
  }
  // Otherwise the lines would be of one kind only, and prove little.
  CHECK(runs > lines / 20);
  CHECK(refusals > lines / 20);
}

}  // namespace
}  // namespace dt
