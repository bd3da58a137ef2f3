#include "cmd/job_words.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/run_arguments.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace dt {
namespace {

using Words = std::span<const std::string>;

constexpr std::array<std::string_view, 4> actions = {"run", "check", "init", "pieces"};
constexpr std::array<OwnOption, 1> pieces_option = {OwnOption{"--pieces", "FILE"}};

/// Adds options to those that stand before them.
void add_flags(OptionSource flags, OptionSource& all) {
  for (auto& [name, values] : flags.values)
    std::ranges::move(values, std::back_inserter(all.values[name]));
  all.origins.merge(flags.origins);
}

/// Reads "FILE [options] [-- command]". Options may stand before the file, too.
Result<JobWords> read_file_words(JobWords::Action action, Words words) {
  constexpr std::array<std::string_view, 1> connect = {"--connect"};
  constexpr std::array<std::string_view, 2> detach = {"--detach", "-d"};
  const bool checks = action == JobWords::Action::check;
  Dialect dialect = {.command = "job", .own_options = pieces_option};
  if (checks) {
    dialect.own_flags = connect;
  } else {
    dialect.own_flags = detach;
  }
  RunArguments before = TRY(read_run_arguments(words, dialect));
  if (before.prints != nullptr) return JobWords{};
  if (before.command.empty() || before.literal) {
    return fail(Errc::input, format("job {0}: which file? write: dtrain job {0} FILE",
                                    checks ? "check" : "run"));
  }
  RunArguments behind = TRY(read_run_arguments(Words(before.command).subspan(1), dialect));
  if (behind.prints != nullptr) return JobWords{};
  if (!behind.command.empty() && !behind.literal) {
    return fail(Errc::input, format("job: \"{}\" means nothing to it; a command that replaces the "
                                    "file's goes behind --",
                                    printable(behind.command.front())));
  }
  const bool has_own = !before.own.empty() || !behind.own.empty();
  JobWords read = {.action = action,
                   .file = before.command.front(),
                   .flags = std::move(before.flags),
                   .command = std::move(behind.command),
                   .connect = checks && has_own,
                   .detach = !checks && has_own};
  for (const auto& values : {before.own_values, behind.own_values})
    if (!values.empty()) read.pieces = values.back().second;
  add_flags(std::move(behind.flags), read.flags);
  return read;
}

/// Reads "[-o FILE] -- options command". `dtrain run` may stand before the options.
Result<JobWords> read_init_words(Words words) {
  constexpr std::array<OwnOption, 1> own = {OwnOption{"-o", "FILE"}};
  const RunArguments before = TRY(read_run_arguments(
      words, {.command = "job",
              .takes = [](const Option& option) { return option.name == "help"; },
              .own_options = own}));
  if (before.prints != nullptr) return JobWords{};
  if (!before.literal) {
    return fail(Errc::input,
                "job init: needs the words of a dtrain run behind --; write: dtrain job init -- "
                "-np 4 python train.py");
  }
  Words line = before.command;
  for (const std::string_view word : {"dtrain", "run"}) {
    if (!line.empty() && line.front() == word) line = line.subspan(1);
  }
  RunArguments run = TRY(read_run_arguments(line));
  return JobWords{.action = JobWords::Action::init,
                  .file = before.own_values.empty() ? "" : before.own_values.back().second,
                  .flags = std::move(run.flags),
                  .command = std::move(run.command)};
}

/// Reads "[--json] [--pieces FILE]".
Result<JobWords> read_pieces_words(Words words) {
  RunArguments read = TRY(read_run_arguments(
      words,
      {.command = "job",
       .takes = [](const Option& option) { return option.name == "help" || option.name == "json"; },
       .own_options = pieces_option}));
  if (read.prints != nullptr) return JobWords{};
  if (!read.command.empty()) {
    return fail(Errc::input, format("job pieces: \"{}\" means nothing to it; write: dtrain job "
                                    "pieces --pieces FILE",
                                    printable(read.command.front())));
  }
  return JobWords{.action = JobWords::Action::pieces,
                  .pieces = read.own_values.empty() ? "" : read.own_values.back().second,
                  .json = read.flags.values.contains("json")};
}

}  // namespace

Result<JobWords> read_job_words(Words words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") return JobWords{};
  const std::string& action = words.front();
  if (action == "run") return read_file_words(JobWords::Action::run, words.subspan(1));
  if (action == "check") return read_file_words(JobWords::Action::check, words.subspan(1));
  if (action == "init") return read_init_words(words.subspan(1));
  if (action == "pieces") return read_pieces_words(words.subspan(1));
  const auto kept = kept_actions();
  if (std::ranges::find(kept, action) != kept.end()) {
    const KeptWords read = TRY(read_kept_words(words));
    if (read.action == KeptWords::Action::help) return JobWords{};
    return JobWords{.action = JobWords::Action::kept, .kept = read};
  }
  std::vector<std::string> names(actions.begin(), actions.end());
  names.insert(names.end(), kept.begin(), kept.end());
  const auto guess = nearest(action, names);
  return fail(Errc::input, format("job: \"{}\" is not one of its commands; {}", printable(action),
                                  guess ? format("did you mean dtrain job {}?", *guess)
                                        : format("they are {}", join(names, ", "))));
}

}  // namespace dt
