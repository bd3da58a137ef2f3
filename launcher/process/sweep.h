#pragma once

#include "base/io/loop.h"

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace dt {

/// A descendant of this process that its own parent left behind.
struct Stray {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
};

/// Returns all living descendants of this process, parents first, without the `spared` and their
/// descendants. Complete only for a child subreaper, which inherits double-forked and setsid
/// processes.
std::vector<Stray> find_descendants(const std::vector<pid_t>& spared = {});
/// Sends these signals, unless the stray has ended and its pid now belongs to a process with
/// another parent. Returns false when no signal was sent.
bool signal_stray(const Stray& stray, std::initializer_list<int> numbers);
/// Sends the signal to each descendant of this process that has a handler for it, then SIGCONT.
void signal_catching_descendants(int number);
/// Returns the children that this process has now. Called at the start, it finds those of the
/// program that exec replaced. Cheap when there are none.
std::vector<pid_t> existing_children();
/// Makes this process inherit its orphaned descendants.
void become_subreaper();
/// Collects the status of ended children for which `ours` returns false. The others' status stays
/// for their owner.
void reap_strangers(const std::function<bool(pid_t)>& ours);
/// Collects the status of ended children of this process group. Returns true when no child of the
/// group is left. The kernel gives the group's number to no new process while it has one.
bool reap_group(pid_t group);
/// True when this process has a child, running or ended but not collected.
bool has_children();

/// Ends all descendants of this process: SIGTERM, the patience, SIGKILL, until none is left. It
/// scans repeatedly, since a process that got SIGTERM may still start others.
///
///   SIGTERM to each new stray ── kill_at ─▶ SIGKILL to all, every scan ── report_at ─▶ on_done
///      └────────────── no child left ─────────────┴───────────────────────▶ on_done
class Sweep {
 public:
  /// Time between SIGTERM and SIGKILL by default.
  static constexpr Duration usual_patience = seconds(2);
  struct Report {
    int ended = 0;                        ///< processes that were sent a signal
    std::vector<std::string> unkillable;  ///< "python (pid 77)", still there after SIGKILL
  };
  struct Options {
    Duration patience = usual_patience;
    std::function<bool(pid_t)> ours = [](pid_t) { return false; };  ///< as for reap_strangers
    std::vector<pid_t> spared;  ///< children of a shell that replaced itself with dtrain by exec
    /// Kills all at once, for processes that fork faster than a scan finds them.
    std::function<void()> kill_all = {};
  };
  /// `on_done` is called once, perhaps from within the constructor; it may destroy this.
  Sweep(Loop& loop, Options options, std::function<void(Report)> on_done);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// Moves SIGKILL forward to at most `patience` from now.
  void hurry(Duration patience);

 private:
  void scan();
  void end(Report report);

  Loop& loop_;
  Options options_;
  Time kill_at_;
  Time report_at_;  ///< when processes that still run are reported as unkillable
  std::function<void(Report)> on_done_;
  std::vector<pid_t> signalled_;
  Timer timer_;
};

}  // namespace dt
