#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/console/tail.h"
#include "launcher/process/child.h"
#include "launcher/sync/group_guard.h"

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// The bounds of a program that prints hosts.
struct DiscoveryLimits {
  Duration patience = seconds(30);  ///< from the start to the exit
  size_t output_bytes_max = size_t{64} << 10;
  Duration kill_patience = seconds(2);  ///< from SIGKILL to a report without the exit status
};

/// Runs a program without arguments, and receives what it prints on stdout. It has the environment
/// and the folder of this process, no terminal, and an empty stdin. Its session is its own, so that
/// its processes are ended together: at the limits, with its exit, with this object, and with this
/// process. A process that makes a group of its own stays.
///
/// No shell starts the program, but execve(2) that finds no "#!" is repeated with sh, as execvp(3)
/// does. A path without a slash is one in the current folder.
class DiscoveryProgram {
 public:
  /// All that the program has printed on stdout, with exit status 0. Otherwise an Errc::input that
  /// names the program, the fault, and the last lines of its stderr.
  using OnDone = std::function<void(Result<std::string>)>;
  /// Fails with Errc::input if there is no such program. `on_done` is called once, by the loop. It
  /// may destroy this object, which else collects the program's processes that end after it.
  static Result<std::unique_ptr<DiscoveryProgram>> start(Loop& loop, const std::string& path,
                                                         DiscoveryLimits limits, OnDone on_done);
  DiscoveryProgram(const DiscoveryProgram&) = delete;
  DiscoveryProgram& operator=(const DiscoveryProgram&) = delete;
  ~DiscoveryProgram();

 private:
  DiscoveryProgram(Loop& loop, Child child, DiscoveryLimits limits, OnDone on_done)
      : loop_(loop), child_(std::move(child)), limits_(limits), on_done_(std::move(on_done)) {}
  Result<> watch();
  bool read_output();
  bool read_errors();
  void stop(std::string why);
  void exited();
  std::optional<std::string> fault_of(const Result<ExitStatus>& status) const;
  void finish(std::optional<std::string> fault);
  void collect_rest();

  Loop& loop_;
  Child child_;
  std::optional<GroupGuard> guard_;  ///< none: the program has ended
  DiscoveryLimits limits_;
  OnDone on_done_;
  std::string path_;
  Fd output_;
  Fd errors_;
  std::string text_;
  Tail last_errors_;
  std::optional<std::string> stopped_;  ///< why the program was killed
  bool is_collected_ = false;           ///< the exit status
  Watch exit_watch_;                    // the watches after the descriptors: destroyed before them
  Watch output_watch_;
  Watch errors_watch_;
  Timer timer_;
};

}  // namespace dt
