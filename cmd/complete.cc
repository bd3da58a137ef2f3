#include "cmd/complete.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/bench_options.h"
#include "cmd/complete_hosts.h"
#include "cmd/help.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <array>
#include <set>

namespace dt {
namespace {

/// True for the options of run that a command takes.
using TakesOption = bool (*)(const Option& option);

bool takes_all(const Option&) {
  return true;
}

/// The words before the cursor, as `run` reads them.
struct RunLine {
  std::set<const Option*> given;
  const Option* awaited = nullptr;      ///< the option whose value is under the cursor
  std::optional<std::string> hostfile;  ///< as typed
  std::optional<size_t> command_at;
};

const Option* option_spelled(std::string_view spelling) {
  const auto found = std::ranges::find_if(run_options, [&](const Option& option) {
    return std::ranges::count(spellings_of(option), spelling) > 0;
  });
  return found == run_options.end() ? nullptr : &*found;
}

bool begins_command(std::string_view word) {
  return word.size() < 2 || word[0] != '-';
}

/// `words` are those behind "run"; the last one is under the cursor.
RunLine read_run_line(std::span<const std::string> words) {
  RunLine line;
  const size_t last = words.size() - 1;
  const auto keep_value = [&line](const Option& option, const std::string& value) {
    if (option.name == "hostfile") line.hostfile = value;
  };
  for (size_t i = 0; i < last; ++i) {
    if (words[i] == "--" || begins_command(words[i])) {
      line.command_at = words[i] == "--" ? i + 1 : i;
      return line;
    }
    const size_t equals = words[i].find('=');
    const Option* option = option_spelled(std::string_view(words[i]).substr(0, equals));
    if (option == nullptr) continue;
    line.given.insert(option);
    if (equals != std::string::npos) {
      keep_value(*option, words[i].substr(equals + 1));
    } else if (const size_t count = value_count(*option); i + count >= last && count > 0) {
      line.awaited = option;
      return line;
    } else if (count > 0) {
      keep_value(*option, words[i + 1]);
      i += count;
    }
  }
  if (words[last].empty() || words[last][0] != '-') line.command_at = last;
  return line;
}

void offer(Completion& completion, std::string_view typed, std::string_view word,
           std::string_view help) {
  if (word.starts_with(typed))
    completion.candidates.push_back({std::string(word), std::string(help)});
}

/// Offers the options' usual spellings. After more than dashes, also offers all other spellings and
/// the options of other launchers. Never offers options that only get an answer.
void offer_options(Completion& completion, std::string_view typed,
                   const std::set<const Option*>& given, TakesOption takes) {
  const bool all = typed.find_first_not_of('-') != std::string_view::npos;
  for (const Option& option : run_options) {
    const bool own = option.group != OptionGroup::torchrun && option.effect != Effect::exports;
    const bool answered = option.effect == Effect::agrees || option.effect == Effect::refuses;
    const bool shown = !answered && (own || all);
    if (!shown) continue;
    if (!takes(option)) continue;
    if (!may_repeat(option) && given.contains(&option)) continue;
    for (const std::string_view spelling : spellings_of(option)) {
      const size_t before = completion.candidates.size();
      offer(completion, typed, spelling, option.help);
      if (!all && completion.candidates.size() > before) break;
    }
  }
}

void offer_variables(Completion& completion, std::string_view typed,
                     const Environment& environment) {
  for (const auto& [name, value] : environment)
    offer(completion, typed, name, "");
}

/// The option's placeholder decides the kind of its value. It is FILE, DIR, HOSTS, NAME, PATTERN,
/// VARIABLE, or choices in lower case, as in none|RANK|all.
Completion complete_value(const Option& option, const std::string& typed, const RunLine& line,
                          const CompletionReaders& readers) {
  Completion completion;
  if (option.kind == OptionKind::flag) {
    offer(completion, typed, "true", "");
    offer(completion, typed, "false", "");
    return completion;
  }
  if (option.placeholder == "HOSTS") return complete_hosts(typed, line.hostfile, readers);
  const bool of_variables =
      option.group != OptionGroup::code &&
      (option.placeholder.starts_with("NAME") || option.placeholder == "PATTERN");
  if (of_variables || option.placeholder == "VARIABLE") {
    offer_variables(completion, typed, readers.environment);
    return completion;
  }
  for (const std::string_view kind : split(option.placeholder, '|')) {
    if (kind == "FILE" || kind == "PATTERN") completion.kind = Completion::Kind::files;
    if (kind == "DIR") completion.kind = Completion::Kind::folders;
  }
  for (const std::string_view choice : choices_of(option))
    offer(completion, typed, choice, "");
  return completion;
}

/// `words` are those behind "run"; `words_before` is the number of words before them, with
/// `dtrain`.
Completion complete_run(std::span<const std::string> words, size_t words_before,
                        const CompletionReaders& readers, TakesOption takes) {
  const RunLine line = read_run_line(words);
  const std::string& typed = words.back();
  if (line.awaited != nullptr) return complete_value(*line.awaited, typed, line, readers);
  if (line.command_at) {
    return {.kind = Completion::Kind::command, .command_at = *line.command_at + words_before};
  }
  const size_t equals = typed.find('=');
  Completion completion;
  if (equals == std::string::npos) {
    offer_options(completion, typed, line.given, takes);
    return completion;
  }
  const std::string spelling = typed.substr(0, equals);
  const Option* option = option_spelled(spelling);
  if (option == nullptr) return {};
  completion = complete_value(*option, typed.substr(equals + 1), line, readers);
  completion.kept.insert(0, spelling + "=");
  return completion;
}

/// Offers the literal values in the placeholder.
void offer_bench_values(Completion& completion, const BenchOption& option, std::string_view typed) {
  for (const std::string_view choice : split(option.placeholder, '|')) {
    if (choice.front() >= 'a' && choice.front() <= 'z') offer(completion, typed, choice, "");
  }
}

/// Offers the operation, or the usual spelling of each option that is not given yet.
void offer_bench_words(Completion& completion, std::span<const std::string> words) {
  const std::string_view typed = words.back();
  const auto is_given = [words = words.first(words.size() - 1)](std::string_view word) {
    return std::ranges::count(words, word) > 0;
  };
  const std::span<const OperationRow> known = bench_operations();
  if (std::ranges::none_of(known, is_given, &OperationRow::name)) {
    for (const OperationRow& row : known)
      offer(completion, typed, row.name, "");
  }
  if (!typed.starts_with('-')) return;
  for (const BenchOption& option : bench_options()) {
    const std::vector<std::string_view> spellings = split_words(option.spellings);
    if (option.hidden || std::ranges::any_of(spellings, is_given)) continue;
    const auto fits = std::ranges::find_if(
        spellings, [typed](std::string_view spelling) { return spelling.starts_with(typed); });
    if (fits != spellings.end()) offer(completion, typed, *fits, option.help);
  }
}

/// `words` are those behind "bench". The reader of run's options gets the words of no other.
Completion complete_bench(std::span<const std::string> words, const CompletionReaders& readers) {
  const std::string& typed = words.back();
  Completion completion;
  std::vector<std::string> of_run;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const BenchOption* own = find_bench_option(words[i]);
    const bool valued = own != nullptr && !own->placeholder.empty();
    if (valued && i + 2 == words.size()) {
      offer_bench_values(completion, *own, typed);
      return completion;
    }
    i += valued ? 1 : 0;
    if (own == nullptr && !parse_bench_operation(words[i])) of_run.push_back(words[i]);
  }
  of_run.push_back(typed);
  const size_t equals = typed.find('=');
  const BenchOption* own = find_bench_option(std::string_view(typed).substr(0, equals));
  if (own != nullptr && equals != std::string::npos) {
    completion.kept = typed.substr(0, equals + 1);
    offer_bench_values(completion, *own, std::string_view(typed).substr(equals + 1));
    return completion;
  }
  completion = complete_run(of_run, 2, readers, is_bench_option);
  const bool begins_word = completion.kind == Completion::Kind::command;
  if (begins_word) completion = {};
  const bool option = completion.kept.empty() && typed.starts_with('-');
  if (begins_word || option) offer_bench_words(completion, words);
  return completion;
}

/// `words` are those behind "check". A job's command stands behind `--` only.
Completion complete_check(std::span<const std::string> words, const CompletionReaders& readers) {
  constexpr std::string_view import = "--import";
  std::vector<std::string> of_run(words.begin(), words.end());
  for (size_t i = 0; i + 1 < of_run.size() && of_run[i] != "--"; ++i) {
    if (of_run[i] != import) continue;
    if (i + 2 == of_run.size()) return {};
    of_run[i + 1] = "--import=";  // no command
  }
  Completion completion = complete_run(of_run, 2, readers, is_check_option);
  const bool has_end = std::ranges::count(words.first(words.size() - 1), "--") > 0;
  return completion.kind == Completion::Kind::command && !has_end ? Completion() : completion;
}

Completion complete_command(std::string_view typed) {
  Completion completion;
  for (const CommandHelp& command : commands())
    offer(completion, typed, command.name, command.summary);
  if (typed.starts_with('-')) {
    offer(completion, typed, "--help", "Explain dtrain.");
    offer(completion, typed, "--version", "Print the version.");
    offer(completion, typed, "--check-build", "Print what this build can do.");
  }
  return completion;
}

/// Offers the words of a command from help's table.
void offer_words_of(Completion& completion, std::span<const std::string> words) {
  for (const CommandHelp& command : commands()) {
    if (command.name != words[0]) continue;
    for (const std::string_view word : split_words(command.words)) {
      const bool known =
          std::ranges::count(words.first(words.size() - 1), word) > 0 ||
          std::ranges::count(completion.candidates, word, &Completion::Candidate::word) > 0;
      if (!known) offer(completion, words.back(), word, "");
    }
  }
}

}  // namespace

Completion complete(std::span<const std::string> words, const CompletionReaders& readers) {
  if (words.empty()) return {};
  if (words.size() == 1) return complete_command(words[0]);
  if (words[0] == "run") return complete_run(words.subspan(1), 2, readers, takes_all);
  if (words[0] == "bench") return complete_bench(words.subspan(1), readers);
  if (words[0] == "help" && words.size() == 2) return complete_command(words[1]);
  Completion completion;
  const bool check = words[0] == "check";
  const bool show = words[0] == "config" && words[1] == "show" && words.size() > 2;
  if (check) completion = complete_check(words.subspan(1), readers);
  if (show) completion = complete_run(words.subspan(2), 3, readers, takes_all);
  const bool option = completion.kept.empty() && words.back().starts_with('-');
  if (!(check || show) || option) offer_words_of(completion, words);
  return completion;
}

std::string completion_text(const Completion& completion) {
  constexpr std::array kinds = {"words", "files", "folders", "command"};
  const std::string behind = completion.kind == Completion::Kind::command
                                 ? format("{}", completion.command_at)
                             : completion.open ? "nospace"
                                               : "space";
  std::string text =
      format("{}\t{}\t{}\n", kinds[static_cast<size_t>(completion.kind)], behind, completion.kept);
  for (const Completion::Candidate& candidate : completion.candidates)
    text += format("{}\t{}\n", candidate.word, candidate.help);
  return text;
}

}  // namespace dt
