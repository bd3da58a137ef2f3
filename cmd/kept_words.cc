#include "cmd/kept_words.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/run_arguments.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

using Words = std::span<const std::string>;
using Action = KeptWords::Action;

constexpr std::array<std::string_view, 6> kept_action_names = {"list", "status", "logs",
                                                               "stop", "wait",   "rm"};

std::vector<std::string_view> flags_of(Action action) {
  if (action == Action::list) return {"--json"};
  if (action == Action::status) return {"--json", "--cluster-spec", "--tf-config"};
  if (action == Action::logs) return {"-f", "--follow"};
  return {};
}

std::vector<OwnOption> options_of(Action action) {
  if (action == Action::logs) return {{"--rank", "N"}, {"--role", "NAME:N"}, {"--tail", "N"}};
  if (action == Action::stop) return {{"--grace", "TIME"}};
  return {};
}

Result<int64_t> number_of(std::string_view option, const std::string& value) {
  const std::optional<int64_t> number = parse_integer(value);
  if (number && *number >= 0 && *number <= std::numeric_limits<int>::max()) return *number;
  return fail(Errc::input,
              format("{}: expected a whole number from 0, got \"{}\"", option, printable(value)));
}

/// Reads "ps:0", a task by its role and index.
Result<TaskId> task_of(const std::string& value) {
  const size_t colon = value.rfind(':');
  const auto index = colon == std::string::npos
                         ? std::nullopt
                         : parse_integer(std::string_view(value).substr(colon + 1));
  if (index && *index >= 0 && *index <= std::numeric_limits<int>::max() && colon > 0)
    return TaskId{value.substr(0, colon), static_cast<int>(*index)};
  return fail(Errc::input,
              format("--role: expected a task, such as ps:0, got \"{}\"", printable(value)));
}

Result<> read_value(const std::string& option, const std::string& value, KeptWords& read) {
  if (option == "--rank") {
    read.rank = TRY(number_of(option, value));
  } else if (option == "--role") {
    read.task = TRY(task_of(value));
  } else if (option == "--tail") {
    read.tail = TRY(number_of(option, value));
  } else {
    const auto grace = parse_duration(value);
    if (!grace) return fail(Errc::input, format("--grace: {}", grace.error().message));
    read.grace = *grace;
  }
  return {};
}

void read_flag(const std::string& flag, KeptWords& read) {
  read.json = read.json || flag == "--json";
  read.cluster_spec = read.cluster_spec || flag == "--cluster-spec";
  read.tf_config = read.tf_config || flag == "--tf-config";
  read.follow = read.follow || flag == "-f" || flag == "--follow";
}

/// Reads options, at most one id, and further options.
Result<> read_rest(Words words, KeptWords& read, bool& wants_help) {
  const std::vector<std::string_view> flags = flags_of(read.action);
  const std::vector<OwnOption> options = options_of(read.action);
  const RunArguments part = TRY(read_run_arguments(
      words, {.command = "job",
              .own_flags = flags,
              .takes = [](const Option& option) { return option.name == "help"; },
              .own_options = options}));
  wants_help = wants_help || part.prints != nullptr;
  for (const std::string& flag : part.own)
    read_flag(flag, read);
  for (const auto& [option, value] : part.own_values)
    TRY(read_value(option, value, read));
  if (part.command.empty() || wants_help) return {};
  if (!read.id.empty()) {
    return fail(Errc::input, format("job {}: one job at a time; \"{}\" is too much",
                                    kept_action_names.at(static_cast<size_t>(read.action) - 1),
                                    printable(part.command.front())));
  }
  read.id = part.command.front();
  return read_rest(Words(part.command).subspan(1), read, wants_help);
}

}  // namespace

std::span<const std::string_view> kept_actions() {
  return kept_action_names;
}

Result<KeptWords> read_kept_words(Words words) {
  const auto found = std::ranges::find(kept_action_names, words.empty() ? "" : words.front());
  if (found == kept_action_names.end()) return KeptWords{};
  KeptWords read = {.action = static_cast<Action>(found - kept_action_names.begin() + 1)};
  bool wants_help = false;
  TRY(read_rest(words.subspan(1), read, wants_help));
  if (wants_help) return KeptWords{};
  if (read.action == Action::list && !read.id.empty())
    return fail(Errc::input, "job list: shows all jobs; one of them: dtrain job status ID");
  if (read.action == Action::rm && read.id.empty())
    return fail(Errc::input, "job rm: which job? write: dtrain job rm ID");
  if (read.rank && read.task)
    return fail(Errc::input, "job logs: --rank and --role name one task; leave one of them out");
  return read;
}

}  // namespace dt
