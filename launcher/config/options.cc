#include "launcher/config/options.h"

#include "base/text.h"

#include <algorithm>

namespace dt {
namespace {

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

/// True for "nooversubscribe" and "oversubscribe": one turns off the other.
bool are_opposites(std::string_view one, std::string_view other) {
  const auto turns_off_other = [](std::string_view off, std::string_view on) {
    for (const std::string_view no : {"no-", "no_", "no"}) {
      if (off.starts_with(no) && !on.starts_with(no)) {
        const std::string names[] = {std::string(on)};
        return off.substr(no.size()) == on || nearest(off.substr(no.size()), names).has_value();
      }
    }
    return false;
  };
  return turns_off_other(one, other) || turns_off_other(other, one);
}

/// Options of dtrain that horovodrun has under the same name.
bool is_of_horovodrun(const Option& option) {
  constexpr std::string_view shared[] = {"np",
                                         "min-np",
                                         "max-np",
                                         "hosts",
                                         "hostfile",
                                         "host-discovery-script",
                                         "slots-per-host",
                                         "elastic-timeout",
                                         "reset-limit",
                                         "blacklist-cooldown-range",
                                         "output-dir",
                                         "start-timeout",
                                         "ssh-port",
                                         "verbose",
                                         "config-file",
                                         "ssh-identity-file",
                                         "help",
                                         "version",
                                         "network-interfaces"};
  return option.group == OptionGroup::horovod ||
         std::ranges::find(shared, option.name) != std::end(shared);
}

std::optional<OptionGuess> guess_by_prefix(std::string_view word) {
  constexpr size_t letters_min = 2;
  std::optional<OptionGuess> best;
  size_t best_length = letters_min - 1;
  for (const Option& option : run_options) {
    if (option.group == OptionGroup::torchrun) continue;  // --nproc is meant for -np
    for (const std::string_view spelling : spellings_of(option)) {
      const std::string_view name = without_dashes(spelling);
      const size_t shared = std::min(name.size(), word.size());
      if (shared > best_length && name.substr(0, shared) == word.substr(0, shared)) {
        best = OptionGuess{&option, spelling};
        best_length = shared;
      }
    }
  }
  return best;
}

}  // namespace

bool is_check_option(const Option& option) {
  return std::ranges::find(check_option_names, option.name) != check_option_names.end();
}

bool is_bench_option(const Option& option) {
  return std::ranges::find(bench_option_names, option.name) != bench_option_names.end();
}

const Option* find_option(std::string_view name) {
  const auto found = std::ranges::find(run_options, name, &Option::name);
  return found == run_options.end() ? nullptr : &*found;
}

bool adds_up(const Option& option) {
  return option.name == "env" || option.name == "env-file" || option.name == "role-env";
}

bool may_repeat(const Option& option) {
  return option.kind == OptionKind::list || option.kind == OptionKind::lines;
}

std::vector<std::string_view> spellings_of(const Option& option) {
  return split_words(option.spellings);
}

size_t value_count(const Option& option) {
  return split_words(option.placeholder).size();
}

bool turns_off(const Option& option, std::string_view spelling) {
  return option.kind == OptionKind::flag && spelling.starts_with("--no-") &&
         !option.name.starts_with("no-");
}

std::vector<std::string_view> choices_of(const Option& option) {
  std::vector<std::string_view> choices;
  std::string_view rest = option.placeholder;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const bool literal =
        std::ranges::none_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == '['; });
    if (literal && !word.empty()) choices.push_back(word);
  }
  return choices;
}

std::string variable_of(const Option& option) {
  std::string variable = "DTRAIN_OPT_";
  for (const char c : option.name) {
    variable += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  }
  return variable;
}

std::optional<OptionGuess> abbreviated_option(std::string_view word) {
  constexpr size_t letters_min = 3;
  if (!word.starts_with("--") || word.size() < 2 + letters_min) return std::nullopt;
  std::optional<OptionGuess> found;
  for (const Option& option : run_options) {
    for (const std::string_view spelling : spellings_of(option)) {
      if (!spelling.starts_with(word) || (found && found->option == &option)) continue;
      if (found) return std::nullopt;
      found = OptionGuess{&option, spelling};
    }
  }
  return found && is_of_horovodrun(*found->option) ? found : std::nullopt;
}

std::optional<OptionGuess> guess_option(std::string_view word) {
  word = without_dashes(word);
  std::vector<std::string> names;
  std::vector<OptionGuess> guesses;
  for (const Option& option : run_options) {
    for (const std::string_view spelling : spellings_of(option)) {
      if (are_opposites(word, without_dashes(spelling))) continue;
      names.emplace_back(without_dashes(spelling));
      guesses.push_back({&option, spelling});
    }
  }
  // A typing error comes first, then an abbreviation. But "out" is no error for "mount".
  constexpr size_t short_word = 3;
  std::optional<OptionGuess> begun = guess_by_prefix(word);
  if (begun && word.size() <= short_word) return begun;
  if (const std::optional<std::string> name = nearest(word, names)) {
    return guesses[static_cast<size_t>(std::ranges::find(names, *name) - names.begin())];
  }
  return begun;
}

}  // namespace dt
