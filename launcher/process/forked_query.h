#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

namespace dt {

/// The number of the first descriptor that enter_fork() keeps.
inline constexpr int first_kept_descriptor = 3;

/// Called first in a process that is a fork of `parent`, and executes no other program. The end of
/// the parent kills it, and no signal is blocked. It keeps these descriptors, from
/// first_kept_descriptor on, and stderr; stdin and stdout are /dev/null. Exits where it cannot.
/// Requires at least one descriptor.
void enter_fork(pid_t parent, const std::vector<int>& kept);

/// Runs a function in a forked process and receives its result. The function may take seconds or
/// hang in the kernel (drivers do), and its leaks stay out of this process.
class ForkedQuery {
 public:
  using Question = std::function<Bytes()>;
  /// `silent`: the process ended without a byte. `cut`: it ended within its answer, killed perhaps.
  /// `late`: the patience ran out first.
  enum class End { answered, silent, cut, late };
  struct Answer {
    End end = End::silent;
    Bytes bytes;  ///< empty unless `end` is answered
  };
  using Done = std::function<void(const Answer&)>;
  /// `on_done` is called once, at the latest after `patience`, and not after the destruction.
  static Result<std::unique_ptr<ForkedQuery>> start(Loop& loop, const Question& question,
                                                    Duration patience, Done on_done);
  ForkedQuery(const ForkedQuery&) = delete;
  ForkedQuery& operator=(const ForkedQuery&) = delete;
  ~ForkedQuery() { kill(); }

  /// Process id of the fork. Requires that the owner of the loop calls reap_strangers(), which
  /// collects its status.
  pid_t pid() const { return pid_; }

 private:
  explicit ForkedQuery(Done on_done) : on_done_(std::move(on_done)) {}
  void read_answer();
  void pipe_ended();
  void finish(End end);
  void kill() const;

  Done on_done_;
  pid_t pid_ = 0;
  Fd process_;  ///< its pidfd
  Fd pipe_;
  Watch watch_;  // after the pipe: destroyed before it is closed
  Timer deadline_;
  Bytes received_;
};

}  // namespace dt
