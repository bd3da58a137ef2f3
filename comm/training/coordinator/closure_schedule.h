#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "comm/training/coordinator/closure_messages.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The decisions of a coordinator: which worker runs which closure. No I/O, no clock.
///
///   waiting ── dispatch ─▶ running ── outcome ─▶ finished ── fetch ─▶ forgotten
///      ▲─ its worker is lost ─┘
///
/// Promises: each closure finishes once, by the outcome of a run or by an error that names it. One
/// worker runs one closure at a time. A closure runs again only after its worker was lost, so
/// a closure may run more than once.
class ClosureSchedule {
 public:
  struct Options {
    std::vector<TaskEntry> workers;
    size_t workers_min = 1;  ///< with fewer left, all closures fail
    size_t closures_max = 65'536;
    size_t bytes_max = size_t{1} << 30;  ///< of the arguments and results that are held
    /// How long a lost worker waits for the notice that explains it.
    Duration notice_max = milliseconds(700);
  };
  explicit ClosureSchedule(Options options);

  /// Queues a closure, and returns its number. If it is `kept`, fetch() takes its end. Fails with
  /// Errc::refused beyond a limit, and with Errc::peer_lost if too few workers are left.
  Result<uint64_t> add(std::string_view name, ByteSpan argument, bool kept);

  /// Workers are known by their place in the options.
  void connected(size_t worker);
  void disconnected(size_t worker, Time now);
  /// Called when a task has died or left. Returns the worker that it was.
  std::optional<size_t> gone(const Notice& notice);
  /// The worker has ended the closure of this dispatch. Fails with Errc::protocol when it runs no
  /// such closure.
  Result<> finished(size_t worker, uint32_t dispatch, ClosureOutcome outcome);
  /// Fails all closures if too few workers are left.
  void advance(Time now);
  /// The time of the next advance().
  Time next_deadline() const;

  struct Dispatch {
    size_t worker = 0;
    uint32_t number = 0;  ///< the same for no other dispatch that runs
    std::shared_ptr<const Bytes> message = {};
  };
  /// Returns the closures to send, each to an idle worker.
  std::vector<Dispatch> take_dispatches();

  size_t unfinished() const { return waiting_.size() + running_.size(); }
  /// True if a worker may connect later.
  bool any_absent() const;
  /// True while a lost worker awaits its notice.
  bool any_unexplained() const;
  enum class State : uint8_t { unknown, unfinished, finished };
  /// Returns the state of a kept closure that is not fetched.
  State state(uint64_t closure) const;
  /// Returns the result of a closure, or its error, which names the closure and the worker with its
  /// host. Requires that the closure is finished.
  Result<Bytes> fetch(uint64_t closure);
  /// Returns the first error since the last call, with the number of those after it. None: all
  /// closures that have finished since then ended well.
  std::optional<Error> take_failure();
  /// Returns `closure 3, "step", on worker:1 on node1`, of an unfinished one.
  std::string describe_unfinished(std::optional<uint64_t> closure) const;

 private:
  struct Closure {
    std::string name;
    bool kept = false;
    std::shared_ptr<const Bytes> message;  ///< encoded
  };
  struct Worker {
    /// gone: it has died or left, or its connection broke without a notice.
    enum class State : uint8_t { absent, idle, running, lost, gone };
    TaskEntry task;
    State state = State::absent;
    uint64_t closure = 0;   ///< that it runs
    uint32_t dispatch = 0;  ///< of the closure
    Time lost_at = {};
    std::string cause = {};  ///< why it is gone
  };

  void stop(Worker& worker, Worker::State state);
  void end(uint64_t number, Result<Bytes> result);
  void review();

  Options options_;
  std::vector<Worker> workers_;
  std::deque<size_t> idle_;               ///< the longest idle one first
  std::map<uint64_t, Closure> closures_;  ///< that are unfinished
  std::deque<uint64_t> waiting_;
  std::map<uint64_t, size_t> running_;      ///< the workers, by closure
  std::map<uint64_t, Result<Bytes>> ends_;  ///< of kept closures
  std::optional<Error> failure_;
  size_t later_failures_ = 0;
  std::optional<Error> stopped_;  ///< too few workers are left
  size_t held_bytes_ = 0;
  uint64_t last_closure_ = 0;
  uint32_t last_dispatch_ = 0;
};

}  // namespace dt
