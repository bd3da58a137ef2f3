#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstdint>
#include <string>

namespace dt {

/// How a process ended.
struct ExitStatus {
  int code = 0;                ///< of exit(3); valid when signal is 0
  int signal = 0;              ///< that killed the process; 0: it exited
  bool out_of_memory = false;  ///< the kernel's OOM killer sent the signal

  bool good() const { return code == 0 && signal == 0; }
  /// The value of $? in a shell: the code, or 128 + signal.
  int shell_status() const { return signal != 0 ? 128 + signal : code; }
  /// "exit status 3", "killed by SIGKILL (the kernel's OOM killer)".
  std::string text() const;
  bool operator==(const ExitStatus&) const = default;
};

/// Resources that a process has used, with its children that it has waited for.
struct ResourceUse {
  Duration user{};
  Duration system{};
  /// The largest process counts. At least the agent's own size at the start: exec keeps the
  /// maximum.
  int64_t max_rss_bytes = 0;
  int64_t major_faults = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  bool operator==(const ResourceUse&) const = default;
};

/// Maps a failure to the exit status of dtrain, or of a task that cannot start.
int exit_status_of(Errc code);

}  // namespace dt
