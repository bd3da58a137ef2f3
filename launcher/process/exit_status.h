#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstdint>
#include <string>

namespace dt {

/// How a process ended.
struct ExitStatus {
  int code = 0;                ///< of exit(3), when signal is 0
  int signal = 0;              ///< that killed it
  bool out_of_memory = false;  ///< the kernel's OOM killer sent it

  bool good() const { return code == 0 && signal == 0; }
  /// As a shell tells it: the code, or 128 + signal.
  int shell_status() const { return signal != 0 ? 128 + signal : code; }
  /// "exit status 3", "killed by SIGKILL (the kernel's OOM killer)".
  std::string text() const;
  bool operator==(const ExitStatus&) const = default;
};

/// What a process has used, with those of its children that it has waited for.
struct ResourceUse {
  Duration user{};
  Duration system{};
  int64_t max_rss_bytes = 0;  ///< of the largest one; never less than its agent had when it started
  int64_t major_faults = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  bool operator==(const ResourceUse&) const = default;
};

/// The exit status of dtrain, or of a task that cannot start, after a failure of this kind.
int exit_status_of(Errc code);

}  // namespace dt
