#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/driver/caller_threads.h"
#include "comm/driver/core_sharing.h"
#include "comm/driver/inbox.h"
#include "comm/driver/operation_pool.h"
#include "comm/driver/predicate_ref.h"
#include "comm/driver/staged_operations.h"
#include "comm/driver/store_calls.h"
#include "comm/driver/wait_reporter.h"
#include "comm/engine/engine.h"
#include "comm/engine/group_members.h"
#include "comm/transport/mesh.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/local_store.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
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
/// Ownership: `mutex_` guards all members but the inbox, the engine, its operations and the client.
/// The mesh belongs to the driver (`driving_`), which releases the mutex only in yield_mutex() and
/// while it sleeps. Any thread may call Mesh::wake.
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
    const Lock lock = enter();
    if (finished_) return fail(Errc::closed, "the context has been finalized");
    return f(*parts_.engine);
  }
  /// The launcher learns of this wait when it is long, see WaitReporter::set_group_wait().
  void note_group_wait(std::optional<RankWait> wait, Time since);

  /// Ends the engine. Pending operations fail with Errc::closed, and no buffer is used any more.
  /// Waits at most 2 s until the peers have received all that was sent. May be called again, but
  /// not by two threads at once.
  void finish();

 private:
  /// How often a spin checks shared memory before the driver checks for other threads.
  static constexpr int checks_per_spin = 16;
  /// A driver that always has data to move still polls the sockets and the rendezvous this often.
  static constexpr Duration poll_every = milliseconds(1);
  using Lock = std::unique_lock<std::mutex>;
  /// The state that a thread waits for, and its deadline.
  struct Goal {
    PredicateRef reached;
    Time deadline = Time::max();
    const Operation* operation = nullptr;  ///< that is waited for; null for other states
  };
  /// A thread in wait_or_drive() that sleeps while another one drives.
  struct Sleeper {
    const Goal* goal;
    bool woken = false;  ///< it has reached its goal, and was notified
  };
  Lock enter();
  void yield_mutex(Lock& lock);
  bool run_quickly(const Work& work);
  void complete(Lock& lock, const Work& work, bool submitted);
  void submit_locked(const Work& work);
  void submit_now(const Work& work, Time now);
  void submit_to_engine(const Work& work, Time now);
  void start_work(const Work& work);
  bool step_staged(Time now);
  void stop_staged(Time now);
  void drop_inbox();
  /// True when operations pend, or other ranks may need this rank's steps.
  bool pending() const {
    return !parts_.engine->idle() || parts_.engine->serves() || !staged_.empty();
  }
  void submit_inbox(Time now);
  void serve_inbox();
  void end_steps();
  std::optional<Result<>> outcome(const Operation& operation) const;
  bool ended(const Operation& operation) const { return finished_ || operation.outcome; }
  void ensure_background();
  void run_background();
  void wait_locked(Lock& lock, const Operation& operation, Time deadline);
  void wait_locked(Lock& lock, const Goal& goal);
  void wait_monotonic(Lock& lock, Goal goal);
  void wait_or_drive(Lock& lock, const Goal& goal);
  void sleep(Lock& lock, const Goal& goal);
  void run_call(Lock& lock, StoreCall& call, const Request& request, Time deadline);
  void answer_calls();
  void wake_waiters();
  void wake_sleepers();
  void wake_driver();

  void drive(Lock& lock, const Goal& goal);
  bool step(Time now);
  bool spin(const Operation* operation);
  bool spin_yielding(const Operation* operation);
  void yield_core();
  /// True when other threads want the mutex.
  bool wanted() const { return woken_ > 0 || entering_.load(std::memory_order_relaxed) > 0; }
  Result<bool> sleep_in_mesh(Lock& lock, Time until);
  void wait_for_peers(Lock& lock, Time deadline);
  void poll_once(Time now, const Operation* operation);
  void read_rendezvous(Time now);
  bool report_waits();
  void lose_launcher(Time now);
  void hand_off();
  void drain();
  template <class Body>
  bool protect(const Body& body);
  void abort(std::string_view why);

  std::mutex mutex_;
  std::condition_variable changed_;     ///< a sleeper was woken, or no thread drives any more
  std::condition_variable background_;  ///< the background thread may have work
  std::atomic<int> entering_ = 0;       ///< threads that want the mutex
  Parts parts_;
  std::unique_ptr<LocalStore> local_store_;  ///< null when there is a client
  StoreCalls calls_;
  Inbox inbox_;
  OperationPool operations_;  ///< of blocking calls
  StagedOperations staged_;
  std::optional<Time> staged_lost_at_ = {};  ///< since when other ranks may not end their work
  CallerThreads callers_;
  std::thread thread_;
  bool driving_ = false;
  bool sleeping_ = false;  ///< the driver sleeps until wake_driver()
  int waiting_ = 0;        ///< threads in wait() and ask()
  std::vector<Sleeper*> sleepers_;
  int woken_ = 0;  ///< sleepers that were woken and have not locked the mutex yet
  bool finished_ = false;
  std::vector<Notice> notices_;     ///< all of the rendezvous
  bool launcher_connected_ = true;  ///< the connection to the rendezvous is open
  CoreSharing core_;                ///< of the thread that drives
  WaitReporter wait_reporter_;      ///< of long waits, to the launcher
  RunningTimeClock clock_;          ///< for all times here and in the engine
  Time polled_at_ = {};
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
