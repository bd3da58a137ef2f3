#include "man/mdoc.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/bench_options.h"
#include "cmd/check_words.h"
#include "cmd/help.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <array>
#include <span>

namespace dt {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Escapes one word of text. A hyphen stays the ASCII character, and does not become a typographic
/// one.
std::string escaped(std::string_view word) {
  std::string text = replaced(std::string(word), "\\", "\\e");
  text = replaced(std::move(text), "-", "\\-");
  return replaced(std::move(text), "…", "...");
}

bool ends_sentence(std::string_view word) {
  return word.ends_with('.') || word.ends_with(".)");
}

std::string flag(std::string_view spelling) {
  return "Fl " + std::string(spelling.substr(1));
}

/// Converts "none|RANK|all" to choices and arguments.
std::string value_of(const Option& option) {
  std::string text;
  for (const std::string_view word : split_words(option.placeholder)) {
    std::string alternatives;
    for (const std::string_view value : split(word, '|')) {
      const bool choice = std::ranges::count(choices_of(option), value) > 0;
      alternatives += format("{}{} {}", alternatives.empty() ? "" : " | ", choice ? "Cm" : "Ar",
                             escaped(value));
    }
    text += " " + alternatives;
  }
  return text;
}

/// Returns the option's spellings: "Fl np , Fl n Ar N".
std::string spellings(const Option& option) {
  std::string text;
  for (const std::string_view spelling : spellings_of(option))
    text += (text.empty() ? "" : " , ") + flag(spelling);
  return text + value_of(option);
}

std::string_view type_name(OptionKind kind) {
  switch (kind) {
    case OptionKind::flag:
      return "true or false";
    case OptionKind::integer:
      return "a whole number";
    case OptionKind::number:
      return "a number";
    case OptionKind::duration:
      return "a number of seconds or a string";
    case OptionKind::list:
    case OptionKind::lines:
      return "a string or an array of strings";
    case OptionKind::text:
      break;
  }
  return "a string";
}

std::string option_item(const Option& option) {
  return format(".It {}\n{}", spellings(option), mdoc_text(option.help));
}

/// The options of horovodrun. Options that tune its library are listed with the variable that they
/// set. Options that only get an answer are listed below each other, before their common answer.
std::string answered_items(std::span<const Option> options) {
  std::string text;
  for (size_t i = 0; i < options.size(); ++i) {
    text += format(".It {}\n", spellings(options[i]));
    if (options[i].effect == Effect::exports) {
      text += mdoc_text(options[i].help) + format(".Ev {}\n", options[i].variable);
      continue;
    }
    const bool last = i + 1 == options.size() || options[i + 1].refusal != options[i].refusal;
    const std::string_view answer =
        options[i].refusal.empty() ? options[i].help : options[i].refusal;
    if (last) text += mdoc_text(format("{}{}", answer, answer.ends_with('.') ? "" : "."));
  }
  return text;
}

std::string torchrun_items() {
  std::string text;
  for (const Option& option : run_options) {
    if (option.group != OptionGroup::torchrun) continue;
    if (option.effect == Effect::decides) {
      text += option_item(option);
    } else {
      text += format(".It {}\n{}", spellings(option),
                     mdoc_text(option.refusal.empty() ? std::string(option.help)
                                                      : format("{}.", option.refusal)));
    }
  }
  return text;
}

std::string key_item(const Option& option) {
  return format(".It Ic {}\n{},\n.Ev {}\n.Pq {} .\n", option.name, type_name(option.kind),
                variable_of(option), spellings(option));
}

struct List {
  std::string_view mark;
  std::string (*text)();
};
constexpr std::array lists = {List{"@COMMANDS@", mdoc_commands},
                              List{"@OPTIONS@", mdoc_options},
                              List{"@KEYS@", mdoc_keys},
                              List{"@CHECK_OPTIONS@", mdoc_check_options},
                              List{"@BENCH_OPTIONS@", mdoc_bench_options},
                              List{"@BENCH_RUN_OPTIONS@", mdoc_bench_run_options}};

}  // namespace

std::string mdoc_text(std::string_view text) {
  constexpr size_t columns = 78;
  std::string all;
  std::string line;
  const auto end_line = [&all, &line] {
    if (line.empty()) return;
    if (line[0] == '.' || line[0] == '\'') line.insert(0, "\\&");
    all += line + "\n";
    line.clear();
  };
  for (const std::string_view word : split_words(text)) {
    const std::string next = escaped(word);
    if (line.size() + 1 + next.size() > columns) end_line();
    line += (line.empty() ? "" : " ") + next;
    if (ends_sentence(word)) end_line();
  }
  end_line();
  return all;
}

std::string mdoc_commands() {
  std::string text = ".Bl -tag -width completion\n";
  for (const CommandHelp& command : commands())
    text += format(".It Cm {}\n{}", command.name, mdoc_text(command.summary));
  return text + ".El\n";
}

std::string mdoc_options() {
  std::string text;
  for (const OptionGroupTitle& group : option_groups()) {
    text += format(".Ss {}\n", group.title);
    const bool torchrun = group.group == OptionGroup::torchrun;
    const bool answered = group.group == OptionGroup::horovod;
    if (torchrun) text += "Known, so that their command lines are understood:\n";
    if (answered)
      text +=
          "Known, so that its command lines are understood, and answered, or handed to its\n"
          "library by the variable that is named:\n.Pp\n";
    text += format(".Bl -tag -width Ds{}\n", answered ? " -compact" : "");
    for (const Option& option : run_options) {
      if (option.group == group.group && !torchrun && !answered) text += option_item(option);
    }
    if (torchrun) text += torchrun_items();
    if (answered) text += answered_items(horovod_options);
    text += ".El\n";
  }
  return text;
}

std::string mdoc_check_options() {
  std::string text = ".Bl -tag -width Ds\n";
  for (const Option& option : run_options) {
    if (is_check_option(option)) text += option_item(option);
  }
  for (const CheckOption& option : check_own_options) {
    const std::string named =
        spellings({.spellings = option.spelling, .placeholder = option.placeholder});
    text += format(".It {}\n{}", named, mdoc_text(option.help));
  }
  return text + ".El\n";
}

std::string mdoc_bench_options() {
  std::string text = ".Bl -tag -width Ds\n";
  for (const BenchOption& option : bench_options()) {
    if (option.hidden) continue;
    const std::string named =
        spellings({.spellings = option.spellings, .placeholder = option.placeholder});
    text += format(".It {}\n{}", named, mdoc_text(option.help));
  }
  return text + ".El\n";
}

std::string mdoc_bench_run_options() {
  std::string text;
  for (const Option& option : run_options) {
    if (!is_bench_option(option)) continue;
    // Commas and the full stop stand apart: mdoc reads them as punctuation then.
    text += format("{}.Fl {}", text.empty() ? "" : " ,\n", spellings_of(option).front().substr(1));
  }
  return text + " .\n";
}

std::string mdoc_keys() {
  std::string text = ".Bl -tag -width Ds\n";
  for (const Option& option : run_options) {
    const bool useful = option.effect == Effect::decides || option.effect == Effect::exports;
    if (option.in_files && useful) text += key_item(option);
  }
  return text + ".El\n";
}

std::string mdoc_page(std::string_view source) {
  std::string page(source);
  for (const List& list : lists)
    page = replaced(std::move(page), std::string(list.mark) + "\n", list.text());
  return page;
}

}  // namespace dt
