#include "launcher/process/process_state.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace dt {

namespace {

constexpr size_t stat_bytes_max = 4096;
constexpr size_t status_bytes_max = size_t{64} << 10;
/// A deeper tree of processes is unlikely, and a loop in it impossible but for reused pids.
constexpr int generations_max = 64;

struct StateName {
  char letter;
  const char* word;
  const char* text;
};
constexpr StateName state_names[] = {
    {'R', "running", "runs"},
    {'S', "sleeping", "sleeps"},
    {'D', "uninterruptible", "waits in the kernel and cannot be killed"},
    {'T', "stopped", "is stopped by a signal"},
    {'t', "traced", "is stopped by a debugger"},
    {'Z', "zombie", "has ended, and its parent has not noticed"},
    {'X', "dead", "has ended"},
    {'I', "idle", "is idle"},
};

const StateName* find_name(char letter) {
  const auto* const found = std::ranges::find(state_names, letter, &StateName::letter);
  return found == std::end(state_names) ? nullptr : found;
}

}  // namespace

std::string ProcessState::text() const {
  const StateName* name = find_name(letter);
  std::string text = name == nullptr ? "is in an unknown state" : name->text;
  if (!waits_at.empty() && (letter == 'S' || letter == 'D'))
    text += format(" (in {})", printable(waits_at, 64));
  return text;
}

std::string ProcessState::word() const {
  const StateName* name = find_name(letter);
  return name == nullptr ? "unknown" : name->word;
}

/// Reads /proc/PID/stat: "pid (name) state ppid …".
std::optional<ProcessStat> read_process_stat(pid_t pid) {
  const Result<std::string> read = read_text_file(format("/proc/{}/stat", pid), stat_bytes_max);
  if (!read) return std::nullopt;
  const std::string_view text = *read;
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = split_words(text.substr(close + 1));
  if (words.size() < 2) return std::nullopt;
  return ProcessStat{.name = std::string(text.substr(open + 1, close - open - 1)),
                     .letter = words[0].front(),
                     .parent = static_cast<pid_t>(parse_integer(words[1]).value_or(0))};
}

ProcessState read_process_state(pid_t pid) {
  const std::optional<ProcessStat> stat = read_process_stat(pid);
  if (!stat) return {};
  ProcessState state{.pid = pid, .letter = stat->letter};
  // Only readable for own processes; "0" for a running one, and where the kernel hides it.
  if (const auto at = read_text_file(format("/proc/{}/wchan", pid), stat_bytes_max); at)
    state.waits_at = *at == "0" ? "" : *at;
  return state;
}

bool catches_signal(pid_t pid, int number) {
  constexpr std::string_view field = "\nSigCgt:";
  const Result<std::string> text = read_text_file(format("/proc/{}/status", pid), status_bytes_max);
  const size_t at = text ? text->find(field) : std::string::npos;
  if (at == std::string::npos) return false;
  const std::string_view line = std::string_view(*text).substr(at + field.size());
  const std::vector<std::string_view> words = split_words(line.substr(0, line.find('\n')));
  uint64_t caught = 0;
  if (words.empty()) return false;
  std::from_chars(words[0].data(), words[0].data() + words[0].size(), caught, 16);
  return (caught >> (number - 1) & 1) != 0;
}

bool is_within(pid_t pid, pid_t ancestor) {
  for (int generation = 0; generation < generations_max && pid > 0; ++generation) {
    if (pid == ancestor) return true;
    const std::optional<ProcessStat> stat = read_process_stat(pid);
    if (!stat) return false;
    pid = stat->parent;
  }
  return false;
}

}  // namespace dt
