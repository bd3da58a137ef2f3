#include "cmd/job_words.h"

#include "base/format.h"
#include "base/text.h"

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

/// Reads "FILE [options] [-- command]".
Result<JobWords> read_words_with_file(JobWords::Action action, Words words) {
  constexpr std::array<std::string_view, 1> connect = {"--connect"};
  constexpr std::array<std::string_view, 2> detach = {"--detach", "-d"};
  const bool checks = action == JobWords::Action::check;
  Dialect dialect = {.command = "job", .own_options = pieces_option};
  if (checks) {
    dialect.own_flags = connect;
  } else {
    dialect.own_flags = detach;
  }
  FileWords read = TRY(read_file_words(words, dialect, checks ? "job check" : "job run"));
  if (read.help) return JobWords{};
  const bool has_own = !read.own.empty();
  return JobWords{.action = action,
                  .file = std::move(read.file),
                  .flags = std::move(read.flags),
                  .command = std::move(read.command),
                  .connect = checks && has_own,
                  .detach = !checks && has_own,
                  .pieces = read.own_values.empty() ? "" : read.own_values.back().second};
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

Result<FileWords> read_file_words(std::span<const std::string> words, const Dialect& dialect,
                                  std::string_view command) {
  RunArguments before = TRY(read_run_arguments(words, dialect));
  if (before.prints != nullptr) return FileWords{.help = true};
  if (before.command.empty() || before.literal) {
    return fail(Errc::input, format("{0}: which file? write: dtrain {0} FILE", command));
  }
  const auto rest = std::span<const std::string>(before.command).subspan(1);
  RunArguments behind = TRY(read_run_arguments(rest, dialect));
  if (behind.prints != nullptr) return FileWords{.help = true};
  if (!behind.command.empty() && !behind.literal) {
    return fail(Errc::input, format("{}: \"{}\" means nothing to it; a command that replaces the "
                                    "file's goes behind --",
                                    dialect.command, printable(behind.command.front())));
  }
  FileWords read = {.file = before.command.front(),
                    .flags = std::move(before.flags),
                    .command = std::move(behind.command),
                    .own = std::move(before.own),
                    .own_values = std::move(before.own_values)};
  add_flags(std::move(behind.flags), read.flags);
  std::ranges::move(behind.own, std::back_inserter(read.own));
  std::ranges::move(behind.own_values, std::back_inserter(read.own_values));
  return read;
}

Result<JobWords> read_job_words(Words words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") return JobWords{};
  const std::string& action = words.front();
  if (action == "run") return read_words_with_file(JobWords::Action::run, words.subspan(1));
  if (action == "check") return read_words_with_file(JobWords::Action::check, words.subspan(1));
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
