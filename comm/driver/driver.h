#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/driver/background_thread.h"
#include "comm/driver/caller_threads.h"
#include "comm/driver/job_rendezvous.h"
#include "comm/driver/monitor.h"
#include "comm/driver/operation_pool.h"
#include "comm/driver/poller.h"
#include "comm/driver/submissions.h"
#include "comm/engine/engine.h"
#include "comm/engine/group_members.h"
#include "comm/transport/mesh.h"
#include "rendezvous/store/client.h"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// Runs an Engine for any number of threads. Each thread that waits for an operation is the driver
/// or a sleeper. At most one thread drives at a time. The driver steps the engine, spins for a
/// short time, then sleeps in the mesh.
///
///   wait(), ask() ─ no thread drives ▶ driver ─ done, or deadline ▶ hand_off(), returns
///       │                                ▲
///       │                                │ hand_off(), or the background thread stops
///       └─ another thread drives ▶ sleeper ─ woken when done, or deadline ▶ returns
///
/// If no thread waits and asynchronous operations are pending, a background thread drives.
///
///   background thread: idle ─ start() or hand_off(): operations pend, no thread waits ▶ drives
///                       ▲                                                                │
///                       └─────────── a thread waits, or no operation is pending ─────────┘
///
/// The driver also sends and receives the requests to the job's store. A rank that is alone has a
/// store of its own here.
///
/// Operations go through the inbox when another thread has the mutex. So a thread that only starts
/// one never waits for a step of the driver. Later calls use the operation of a blocking call
/// again. So a call on an idle engine allocates no memory.
///
/// Ownership: the monitor's mutex guards all members but the inbox, the engine, its operations and
/// the client. The mesh belongs to the driver (`driving_`), which releases the mutex only in
/// Monitor::yield() and while it sleeps. Any thread may call Mesh::wake.
///
/// If memory runs out on any thread while the engine runs, all operations fail with Errc::os.
/// Otherwise an operation could use its buffers although no thread sees its end.
class Driver {
 public:
  struct Parts {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<RendezvousClient> client = {};  ///< null when this rank is alone
    std::unique_ptr<Mesh> mesh = {};                ///< null when this rank is alone
    Duration spin = Duration::zero();               ///< how long to spin before sleeping
    bool yield = false;                             ///< between spins, because ranks share cores
    Duration stall_after = Duration::zero();        ///< as in EngineSettings
  };
  explicit Driver(Parts parts);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  using Work = Inbox::Work;

  /// Performs an operation. The error of one that fails has the rank to blame. `name` is that of a
  /// request without one, so that a call allocates no memory for it.
  Result<> run(OperationRequest&& request, std::string_view name = {});
  /// Starts an operation that also proceeds while no thread waits for it. Returns soon.
  Work start(const OperationRequest& request);
  // The same two for an operation on memory of a device:
  Result<> run_staged(const Work& work);
  void start_staged(const Work& work);
  /// Returns the outcome; none if the deadline, a time of the monotonic clock, passed first. Time
  /// in which this process was stopped does not count.
  std::optional<Result<>> wait(const Work& work, Time deadline);
  bool done(const Work& work);
  /// Waits as wait() does until one of the operations has ended. Returns the index of the first one
  /// that has; none if the deadline passed first. Null pointers are left out.
  std::optional<size_t> wait_any(std::span<const Operation* const> operations, Time deadline);
  /// Returns the times of an operation of start().
  OperationTimes times(const Work& work);

  /// Sends a request to the job's store and waits for the reply until the deadline, a time of
  /// running_time(). After a death only a WaitRequest fails. Without the launcher all requests
  /// fail.
  Result<Reply> ask(const Request& request, Time deadline);
  /// Returns the notices of the rendezvous so far, also of tasks without rank, but the first
  /// `count`.
  std::vector<Notice> notices_from(size_t count);
  /// Returns the time without stops of this process, for the deadlines of ask().
  Time running_time();

  // As in Groups. Creating a group wakes no thread; leaving one wakes those that wait for it.
  void create_group(uint32_t number, const GroupMembers& members);
  void leave_group(uint32_t number);
  /// Returns the Result of f for the engine, which is used by no other thread meanwhile. Fails with
  /// Errc::closed after the engine's end.
  template <class F>
  auto with_engine(const F& f) -> decltype(f(std::declval<Engine&>())) {
    const Lock lock = monitor_.enter();
    if (finished_) return fail(Errc::closed, "the context has been finalized");
    return f(*engine_);
  }
  /// The launcher learns of this wait when it is long, see WaitReporter::set_group_wait().
  void note_group_wait(std::optional<RankWait> wait, Time since);

  /// Ends the engine. Pending operations fail with Errc::closed, and no buffer is used any more.
  /// Waits at most 2 s until the peers have received all that was sent. May be called again, but
  /// not by two threads at once.
  void finish();

 private:
  using Lock = Monitor::Lock;
  bool run_quickly(const Work& work);
  void complete(Lock& lock, const Work& work, bool submitted);
  void submit_locked(const Work& work);
  void end_steps();
  /// True when operations pend, or other ranks may need this rank's steps.
  bool pending() const {
    return !engine_->idle() || engine_->serves() || !submissions_.staged().empty();
  }
  std::optional<Result<>> outcome(const Operation& operation) const;
  bool ended(const Operation& operation) const { return finished_ || operation.outcome; }
  void run_background();
  void wait_locked(Lock& lock, const Goal& goal);
  void wait_monotonic(Lock& lock, Goal goal);
  void wait_or_drive(Lock& lock, const Goal& goal);
  void run_call(Lock& lock, StoreCall& call, const Request& request, Time deadline);
  void wake_waiters();
  void wake_driver();

  void drive(Lock& lock, const Goal& goal);
  bool step(Time now);
  void wait_for_peers(Lock& lock, Time deadline);
  void read_arrivals(const Result<bool>& polled, Time now);
  bool report_waits();
  void hand_off();
  template <class Body>
  bool protect(const Body& body);
  void abort(std::string_view why);

  Monitor monitor_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Mesh> mesh_;  ///< null when this rank is alone
  Duration spin_;               ///< how long to spin before sleeping
  JobRendezvous rendezvous_;
  Submissions submissions_;
  OperationPool operations_;  ///< of blocking calls
  CallerThreads callers_;
  Poller poller_;
  BackgroundThread background_;
  bool driving_ = false;
  bool sleeping_ = false;  ///< the driver sleeps until wake_driver()
  int waiting_ = 0;        ///< threads in wait() and ask()
  bool finished_ = false;
  RunningTimeClock clock_;    ///< for all times here and in the engine
  Time stepped_at_ = {};      ///< the time of the engine's last step
  int quick_calls_left_ = 0;  ///< see run_quickly()
};

/// Catches what the engine's containers throw: the background thread could not report it. The
/// engine's state may then be incomplete, so all operations and calls fail, and this returns false.
template <class Body>
bool Driver::protect(const Body& body) {
  try {
    body();
    return true;
  } catch (const std::exception& thrown) {
    abort(thrown.what());
    return false;
  }
}

}  // namespace dt
