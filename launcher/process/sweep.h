#pragma once

#include "base/io/loop.h"

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace dt {

/// A process below us that somebody left behind.
struct Stray {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
};

/// All living descendants of this process, parents first, without the `spared` and what is below
/// them. Complete only for a child subreaper, to whom double-forked and setsid processes fall back.
std::vector<Stray> find_descendants(const std::vector<pid_t>& spared = {});
/// Sends these signals, unless the number now belongs to a process of other parents, as it may when
/// the stray has ended. False: none was sent.
bool signal_stray(const Stray& stray, std::initializer_list<int> numbers);
/// The children that this process has now (of the program that it was before an exec); cheap when
/// there are none.
std::vector<pid_t> existing_children();
/// Makes this process inherit its orphaned descendants.
void become_subreaper();
/// Collects ended children for which `ours` says no; the others are left for their owner.
void reap_strangers(const std::function<bool(pid_t)>& ours);
/// Whether this process has any child, ended or not.
bool has_children();

/// Ends everything below this process: SIGTERM, the patience, SIGKILL, until nothing is left. Looks
/// again and again, since what is told to end may still start others.
class Sweep {
 public:
  /// Between SIGTERM and SIGKILL where nobody says how long.
  static constexpr Duration usual_patience = seconds(2);
  struct Report {
    int ended = 0;                        ///< processes that had to be told
    std::vector<std::string> unkillable;  ///< "python (pid 77)", still there after SIGKILL
  };
  struct Options {
    Duration patience = usual_patience;
    std::function<bool(pid_t)> ours = [](pid_t) { return false; };  ///< as for reap_strangers
    std::vector<pid_t> spared;  ///< children that were there before us (of a shell that became us)
    /// A stronger SIGKILL than one by one, for those who multiply faster than we look.
    std::function<void()> kill_all = {};
  };
  /// `on_done` is called once, perhaps before this returns.
  Sweep(Loop& loop, Options options, std::function<void(Report)> on_done);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// SIGKILL comes no later than so long from now.
  void hurry(Duration patience);

 private:
  void look();
  void end(Report report);

  Loop& loop_;
  Options options_;
  Time kill_at_;
  Time give_up_at_;
  std::function<void(Report)> on_done_;
  std::vector<pid_t> told_;
  Timer timer_;
};

}  // namespace dt
