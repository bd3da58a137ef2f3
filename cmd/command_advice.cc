#include "cmd/command_advice.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/process/executable.h"

#include <algorithm>
#include <fstream>
#include <vector>

namespace dt {
namespace {

/// Returns "dtrain run -np 2 python ddp.py": the words before the command, then `more`.
std::string command_line(const TypedCommand& typed, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"dtrain"};
  for (const std::string& word : typed.front) {
    if (word != "--") words.push_back(shell_quote(printable(word)));
  }
  for (const std::string& word : more)
    words.push_back(shell_quote(printable(word)));
  return join(words, " ");
}

bool can_run(const TypedCommand& typed, std::string_view command) {
  return find_executable(command, typed.path, typed.cwd).has_value();
}

/// The first line of a script; empty if the file cannot be read.
std::string first_line(const TypedCommand& typed, const std::string& file) {
  std::ifstream opened(file.starts_with('/') ? file : format("{}/{}", typed.cwd, file));
  constexpr size_t line_bytes_max = 128;
  std::string line(line_bytes_max, '\0');
  opened.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(opened.gcount()));
  return line.substr(0, line.find('\n'));
}

std::vector<std::string> behind(std::vector<std::string> front, const TypedCommand& typed) {
  front.insert(front.end(), typed.command.begin(), typed.command.end());
  return front;
}

/// A Python file that the kernel cannot execute: without its permission, or without "#!".
std::optional<std::string> python_advice(const TypedCommand& typed) {
  const std::string& file = typed.command.front();
  const std::string line = first_line(typed, file);
  const bool script = line.starts_with("#!");
  const bool python = file.ends_with(".py") || (script && line.find("python") != std::string::npos);
  if (line.empty() || !python || (script && can_run(typed, file))) return std::nullopt;
  const std::string interpreter = can_run(typed, "python") ? "python" : "python3";
  return format("{} is a Python file; write: {}", shell_quote(printable(file)),
                command_line(typed, behind({interpreter}, typed)));
}

/// A whole command in quotes, whose first part is a program.
std::optional<std::string> quotes_advice(const TypedCommand& typed) {
  const std::string& word = typed.command.front();
  const std::vector<std::string_view> parts = split_words(word);
  if (typed.command.size() != 1 || parts.size() < 2 || can_run(typed, word)) return std::nullopt;
  if (!can_run(typed, parts.front())) return std::nullopt;
  return format("{} is one word; leave out the quotes, or use sh -c: {}",
                shell_quote(printable(word)), command_line(typed, {"sh", "-c", word}));
}

/// A host behind the hosts of -H: they are separated by commas.
std::optional<std::string> host_advice(const TypedCommand& typed) {
  const std::string& word = typed.command.front();
  const size_t colon = word.find(':');
  const bool is_host = colon != std::string::npos && colon > 0 &&
                       !host_name_fault(word.substr(0, colon)) &&
                       parse_integer(word.substr(colon + 1)).has_value();
  if (!is_host || typed.front.empty() || can_run(typed, word)) return std::nullopt;
  const std::string& last = typed.front.back();
  if (last.find(':') == std::string::npos) return std::nullopt;
  return format("{} is no command; hosts are separated by commas: -H {},{}", printable(word),
                printable(last.starts_with("-H") ? last.substr(2) : last), printable(word));
}

/// "NAME=VALUE command", as a shell takes it.
std::optional<std::string> variable_advice(const TypedCommand& typed) {
  const auto is_name = [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  const auto is_setting = [&](const std::string& word) {
    const size_t equals = word.find('=');
    return equals != std::string::npos && equals > 0 &&
           std::ranges::all_of(word.substr(0, equals), is_name);
  };
  const std::string& first = typed.command.front();
  if (!is_setting(first) || can_run(typed, first)) return std::nullopt;
  std::vector<std::string> words;
  auto next = typed.command.begin();
  for (; next != typed.command.end() && is_setting(*next); ++next)
    words.insert(words.end(), {"-x", *next});
  words.insert(words.end(), next, typed.command.end());
  return format("{} is no command; to set a variable: {}", shell_quote(printable(first)),
                command_line(typed, words));
}

}  // namespace

std::optional<std::string> command_advice(const TypedCommand& typed) {
  if (auto advice = python_advice(typed)) return advice;
  if (auto advice = quotes_advice(typed)) return advice;
  if (auto advice = host_advice(typed)) return advice;
  return variable_advice(typed);
}

}  // namespace dt
