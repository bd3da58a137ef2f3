#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"

#include <sys/types.h>

#include <functional>
#include <memory>

namespace dt {

/// A question that is answered in a process of its own, a fork of this one: finding the answer may
/// take seconds, or hang in the kernel, and what it leaves in memory is none of ours.
class ForkedQuery {
 public:
  using Question = std::function<Bytes()>;
  enum class End { answered, silent, late };
  struct Answer {
    End end = End::silent;
    Bytes bytes;  ///< all of the answer if it was answered
  };
  using Done = std::function<void(const Answer&)>;
  /// `on_done` is called once, after the patience at the latest, unless this is destroyed before.
  static Result<std::unique_ptr<ForkedQuery>> start(Loop& loop, const Question& question,
                                                    Duration patience, Done on_done);
  ForkedQuery(const ForkedQuery&) = delete;
  ForkedQuery& operator=(const ForkedQuery&) = delete;
  ~ForkedQuery() { kill(); }

  /// Of the process; whoever reaps strangers reaps it.
  pid_t pid() const { return pid_; }

 private:
  ForkedQuery(Loop& loop, Done on_done) : loop_(loop), on_done_(std::move(on_done)) {}
  void read_answer();
  void finish(End end);
  void kill() const;

  Loop& loop_;
  Done on_done_;
  pid_t pid_ = 0;
  Fd process_;  ///< its pidfd
  Fd pipe_;
  Watch watch_;  // after the pipe: destroyed before it is closed
  Timer deadline_;
  Bytes answer_;
};

}  // namespace dt
