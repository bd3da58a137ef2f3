#include "launcher/config/allocation/srun_words.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <string_view>

namespace dt {
namespace {

/// An option with its short form, if it has one.
struct SrunOption {
  std::string_view name;
  std::string_view letter = "";
};

/// The options that decide where agents start, how they get their input, and when the step ends.
constexpr SrunOption options_of_step[] = {
    {"--nodes", "-N"},
    {"--ntasks", "-n"},
    {"--ntasks-per-node"},
    {"--nodelist", "-w"},
    {"--nodefile", "-F"},
    {"--exclude", "-x"},
    {"--relative", "-r"},
    {"--het-group"},
    {"--jobid"},
    {"--overlap"},
    {"--mpi"},
    {"--cpu-bind"},
    {"--wait", "-W"},
    {"--no-kill", "-k"},
    {"--kill-on-bad-exit", "-K"},
    {"--immediate", "-I"},
    {"--input", "-i"},
    {"--output", "-o"},
    {"--error", "-e"},
    {"--label", "-l"},
    {"--pty"},
    {"--export"},
    {"--multi-prog"},
    {"--bcast"},
    {"--test-only"},
    {"--help", "-h"},
    {"--version", "-V"},
    {"--usage"},
};

bool names(std::string_view word, const SrunOption& option) {
  if (!word.starts_with("--")) return !option.letter.empty() && word.starts_with(option.letter);
  // srun takes shortened names.
  const std::string_view name = word.substr(0, word.find('='));
  return name.size() > 2 && option.name.starts_with(name);
}

}  // namespace

std::optional<std::string> srun_words_fault(const std::vector<std::string>& words) {
  if (words.empty() || !words.front().starts_with('-'))
    return "expected options of srun, such as --container-image=FILE";
  for (const std::string& word : words) {
    if (word == "--") return "-- ends the options of srun, and dtrain adds its own";
    for (const SrunOption& option : options_of_step) {
      if (word.starts_with('-') && names(word, option))
        return format("dtrain itself gives srun the option {}; leave out {}", option.name,
                      printable(word));
    }
  }
  return std::nullopt;
}

bool choose_container(const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return word.starts_with("--container"); });
}

}  // namespace dt
