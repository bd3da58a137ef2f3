#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/running_time_clock.h"
#include "comm/engine/engine.h"
#include "comm/engine/store_calls.h"
#include "comm/transport/mesh.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/local_store.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace dt {

/// Moves an Engine for any number of threads. Whoever waits for an operation drives: steps the
/// engine, spins for a moment, then sleeps in the mesh. One thread drives at a time; other waiting
/// threads sleep until it wakes them, and one of them takes over when it has what it came for. If
/// nobody waits and asynchronous operations are pending, a background thread drives.
///
/// Requests to the job's store are moved the same way, whoever drives; the store of a rank that is
/// alone is here.
///
/// Who owns what: `mutex_` guards everything here, the engine, its operations and the client. The
/// mesh belongs to the thread that drives (`driving_`), which releases the mutex only while it
/// sleeps in Mesh::wait; Mesh::wake is for all.
///
/// Memory that runs out while the engine is moved ends everything with Errc::os, on whatever thread
/// it happens: an operation whose end nobody sees would use its buffers for ever.
class Driver {
 public:
  struct Parts {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<RendezvousClient> client = {};  ///< null when this rank is alone
    std::unique_ptr<Mesh> mesh = {};                ///< null when this rank is alone
    Duration spin = Duration::zero();               ///< how long to look before sleeping
    bool yield = false;                             ///< while spinning, because ranks share cores
  };
  explicit Driver(Parts parts);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  struct Outcome {
    Result<> result;
    int blamed_rank = -1;
  };
  using Work = std::shared_ptr<Operation>;

  /// Submits an operation that its caller will wait for at once.
  Work submit(OperationRequest request);
  /// Submits an operation that goes on without its caller.
  Work start(OperationRequest request);
  /// What became of it; none if the deadline, a moment on the monotonic clock, came first. The time
  /// in which this process was stopped does not count.
  std::optional<Outcome> wait(const Work& work, Time deadline);
  bool done(const Work& work);

  struct StoreAnswer {
    Result<Reply> result;  ///< the store's reply, or why there is none
    int blamed_rank = -1;
  };
  /// Asks the job's store and waits for its reply until the deadline, a moment of lived time. After
  /// a death only a WaitRequest fails; without the launcher everything does.
  StoreAnswer ask(const Request& request, Time deadline);
  /// The time without stops of this process, for the deadlines of ask().
  Time lived_now();

  /// Ends everything; operations without an outcome have Errc::closed from now on, and no buffer is
  /// used any more. What was sent still arrives: waits for that, 2 s at most. May be called again,
  /// but not by two threads at once.
  void finish();

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// Whether a thread has what it waits for.
  using Enough = std::function<bool()>;
  /// A thread in move() that sleeps while another one drives.
  struct Sleeper {
    const Enough* enough;
    bool called = false;  ///< it has what it waits for, and has been told
  };
  Lock enter();
  void yield_mutex(Lock& lock);
  Work submit_locked(OperationRequest request);
  bool over(const Operation& operation) const { return finished_ || operation.outcome; }
  void ensure_background();
  void run_background();
  void wait_or_drive(Lock& lock, const Enough& enough, Time deadline);
  void sleep(Lock& lock, const Enough& enough, Time deadline);
  void move_call(Lock& lock, StoreCall& call, const Request& request, Time deadline);
  void settle_calls();
  void wake_waiters();
  void wake_driver();

  void drive(Lock& lock, const Enough& enough, Time deadline);
  bool step(Time now);
  void wait_for_peers(Lock& lock, Time deadline);
  void poll_once(Time now);
  void read_rendezvous(Time now);
  void lose_launcher(Time now);
  void hand_off();
  void drain();
  template <class Body>
  void protect(const Body& body);

  std::mutex mutex_;
  std::condition_variable changed_;     ///< a sleeper was called, or nobody drives any more
  std::condition_variable background_;  ///< there may be work for the background thread
  std::atomic<int> entering_ = 0;       ///< threads that want the mutex
  Parts parts_;
  std::unique_ptr<LocalStore> local_store_;  ///< null when there is a client
  StoreCalls calls_;
  std::thread thread_;
  bool driving_ = false;
  bool sleeping_ = false;  ///< the driving thread sleeps until wake_driver()
  int waiting_ = 0;        ///< threads in wait() and ask()
  std::vector<Sleeper*> sleepers_;
  int called_ = 0;  ///< sleepers that were called and have not got the mutex yet
  bool finished_ = false;
  bool launcher_known_ = true;  ///< the rendezvous still answers
  RunningTimeClock clock_;      ///< all times here and in the engine are its
  Time looked_around_ = {};
};

}  // namespace dt
