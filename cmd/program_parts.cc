#include "cmd/program_parts.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Words = std::span<const std::string>;

/// Returns the index of the first ":" that separates programs; the size when there is none.
size_t find_separator(Words words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == ":" && words[i + 1].size() > 1 && words[i + 1].starts_with('-')) return i;
  }
  return words.size();
}

std::string command_line(Words words) {
  std::vector<std::string> quoted;
  std::ranges::transform(words, std::back_inserter(quoted), shell_quote);
  return join(quoted, " ");
}

std::vector<std::string> values_of(const OptionSource& flags, std::string_view name) {
  const auto found = flags.values.find(name);
  return found == flags.values.end() ? std::vector<std::string>() : found->second;
}

void add_value(OptionSource& flags, const std::string& name, std::string value) {
  flags.values[name].push_back(std::move(value));
  flags.origins.try_emplace(name, "--" + name);
}

/// Requires that a program has a command, its number, and no option of the whole job.
Result<> check_part(const RunArguments& part) {
  if (part.command.empty()) {
    return fail(Errc::input,
                "no command behind \":\", which separates programs; as an argument of "
                "the program, write \":\" after: dtrain run … -- COMMAND");
  }
  const std::string program = printable(part.command.front());
  for (const auto& [name, values] : part.flags.values) {
    if (name == "np" || name == "hosts" || name == "env") continue;
    return fail(Errc::input, format("{}: this option counts for the whole job; write it before the "
                                    "first program, not before {} (there: -np, -H and -x)",
                                    part.flags.origins.at(name), program));
  }
  if (part.flags.values.contains("np")) return {};
  return fail(Errc::input, format("{}: without a number of processes; with programs separated by "
                                  "\":\", each has its own: dtrain run -np 1 a : -np 2 b",
                                  program));
}

/// Makes a role of a program behind a ":".
Result<> add_part(RunArguments& run, const std::string& name, const RunArguments& part) {
  const std::vector<std::string> hosts = values_of(part.flags, "hosts");
  add_value(run.flags, "role",
            format("{}={}{}", name, part.flags.values.at("np").back(),
                   hosts.empty() ? "" : "@" + join(hosts, ",")));
  add_value(run.flags, "role-ranked", name);
  add_value(run.flags, "role-command", format("{}={}", name, command_line(part.command)));
  for (const std::string& setting : values_of(part.flags, "env")) {
    if (setting.find('=') == std::string::npos) {
      return fail(Errc::input, format("-x {0}: write -x {0}=VALUE before {1}, or -x {0} before the "
                                      "first program",
                                      printable(setting), printable(part.command.front())));
    }
    add_value(run.flags, "role-env", format("{}={}", name, setting));
  }
  return {};
}

/// Gives the hosts of the first program to its role, where another program has hosts, too.
void limit_first_part(OptionSource& flags) {
  const auto roles = values_of(flags, "role");
  const bool elsewhere = std::ranges::any_of(
      roles, [](const std::string& role) { return role.find('@') != std::string::npos; });
  const std::vector<std::string> hosts = values_of(flags, "hosts");
  if (!elsewhere || hosts.empty()) return;
  add_value(flags, "role", format("worker={}@{}", flags.values.at("np").back(), join(hosts, ",")));
  flags.values.erase("hosts");
}

}  // namespace

Result<> split_programs(RunArguments& run) {
  const size_t end = run.literal ? run.command.size() : find_separator(run.command);
  if (end == run.command.size()) return {};
  if (run.flags.values.contains("role")) {
    return fail(Errc::input, format("{}: \":\" separates programs, and makes their roles; leave "
                                    "one of them out",
                                    run.flags.origins.at("role")));
  }
  const std::vector<std::string> words = std::move(run.command);
  run.command.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(end));
  if (run.command.empty() || !run.flags.values.contains("np")) {
    TRY(check_part({.flags = {}, .command = run.command}));
  }
  Words rest = Words(words).subspan(end);
  for (int number = 1; !rest.empty(); ++number) {
    rest = rest.subspan(1);
    RunArguments part = TRY(read_run_arguments(rest));
    if (part.prints != nullptr) {
      run.prints = part.prints;
      return {};
    }
    const size_t length = part.literal ? part.command.size() : find_separator(part.command);
    rest = rest.last(part.command.size() - length);
    part.command.resize(length);
    TRY(check_part(part));
    TRY(add_part(run, format("program{}", number), part));
  }
  limit_first_part(run.flags);
  return {};
}

}  // namespace dt
