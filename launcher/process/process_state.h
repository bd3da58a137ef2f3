#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// The state of a process, as its kernel sees it.
struct ProcessState {
  int64_t pid = 0;            ///< 0: there is no such process
  char letter = '?';          ///< as in /proc/PID/stat; '?': unknown
  std::string waits_at = {};  ///< kernel function in which its first thread waits; empty: unknown
  bool operator==(const ProcessState&) const = default;

  bool stopped() const { return letter == 'T'; }
  /// Returns "is stopped by a signal", "sleeps (in pipe_read)".
  std::string text() const;
  /// Returns "stopped", "sleeping", …; "unknown" for other letters.
  std::string word() const;
};

/// A process in its kernel's table, which contains zombies too.
struct ProcessStat {
  std::string name = {};  ///< at most 15 bytes, of any value
  char letter = '?';      ///< as in /proc/PID/stat
  pid_t parent = 0;

  bool ended() const { return letter == 'Z' || letter == 'X'; }
};

/// Returns none when there is no such process.
std::optional<ProcessStat> read_process_stat(pid_t pid);
/// Reads the state of that process. Never blocks, also when the process cannot be killed.
ProcessState read_process_state(pid_t pid);
/// True when the process has a handler for this signal. False when it does not exist.
bool catches_signal(pid_t pid, int number);
/// True when `pid` is `ancestor` or a descendant of it.
bool is_within(pid_t pid, pid_t ancestor);

}  // namespace dt
