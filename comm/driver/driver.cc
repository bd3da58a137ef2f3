#include "comm/driver/driver.h"

#include "base/finally.h"
#include "base/io/blocked_signals.h"
#include "comm/collective/operation.h"
#include "comm/driver/stack_dump.h"
#include "comm/engine/groups.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace dt {

namespace {

constexpr Duration drain_timeout = seconds(2);
/// How long drain() still handles arrived messages: some need a reply or must be forwarded.
constexpr Duration drain_reply_time = milliseconds(200);
/// So many calls may follow each other without a full step of the engine.
constexpr int quick_calls_max = 31;
/// How often such a call spins before it takes the long way.
constexpr int quick_turns_max = 16;
/// How often a driver offers the mutex to other threads before it continues. They need some
/// microseconds to wake up.
constexpr int yield_turns_max = 64;
/// How often a driver that has nothing else to do asks for the end of copies.
constexpr Duration copies_poll_every = microseconds(200);
/// Not every system accepts Time::max() for a condition variable.
constexpr Duration sleep_max = std::chrono::hours(1);

Time not_too_late(Time deadline) {
  return std::min(deadline, Clock::now() + sleep_max);
}

}  // namespace

Driver::Driver(Parts parts)
    : parts_(std::move(parts)),
      local_store_(parts_.client ? nullptr : std::make_unique<LocalStore>()),
      calls_(parts_.client ? static_cast<StorePort&>(*parts_.client) : *local_store_),
      core_(parts_.yield),
      wait_reporter_(parts_.stall_after) {
  sleepers_.reserve(OperationPool::kept_max);
  if (!parts_.mesh) return;
  const Time now = clock_.now();
  for (const Notice& notice : parts_.mesh->notices())
    parts_.engine->notice(notice, now);
  notices_ = parts_.mesh->notices();
}

Driver::~Driver() {
  finish();
}

Driver::Lock Driver::enter() {
  entering_.fetch_add(1, std::memory_order_relaxed);
  Lock lock(mutex_);
  entering_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

/// Lets waiting threads lock the mutex. A mutex is not fair: without this, a driver that always has
/// work would exclude all others.
void Driver::yield_mutex(Lock& lock) {
  for (int turn = 0; turn < yield_turns_max; ++turn) {
    if (!wanted()) return;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

Result<> Driver::run(OperationRequest&& request, std::string_view name) {
  Lock lock(mutex_, std::try_to_lock);
  Work work = lock ? operations_.take() : std::make_shared<Operation>();
  std::string own_name = std::move(work->request.name);  // for its memory
  work->request = std::move(request);
  if (work->request.name.empty()) {
    own_name.clear();
    if (!name.empty()) own_name = name;
    work->request.name = std::move(own_name);
  }
  work->request.blocks = callers_.note_caller();
  std::optional<Result<>> ended;
  {
    const OperationMark mark(work->request.kind, work->request.name);
    const bool quick = lock && !driving_ && !finished_ && run_quickly(work);
    if (!quick || !this->ended(*work)) complete(lock, work, quick);
    ended = outcome(*work);
  }
  operations_.put(std::move(work));
  return *std::move(ended);
}

/// Submits an operation, unless that is done, and waits for its end.
void Driver::complete(Lock& lock, const Work& work, bool submitted) {
  if (!lock) {
    inbox_.put(work);
    lock = enter();
    if (driving_ && sleeping_) submit_locked(nullptr);
  } else if (driving_) {
    submit_locked(work);
  } else if (!finished_ && !submitted) {
    // This thread drives at once.
    const Time now = clock_.now();
    submit_inbox(now);
    submit_now(work, now);
  }
  while (!ended(*work))  // a wait fails earlier when memory runs out
    wait_locked(lock, *work, Time::max());
}

/// Runs an operation in shared memory on an engine without other work, without a clock and without
/// the links. Returns false, and does nothing, for all other operations. Some calls take the long
/// way, so that links and time limits are served. The operation may be pending afterwards.
bool Driver::run_quickly(const Work& work) {
  Engine& engine = *parts_.engine;
  RankGroup* const group = engine.groups().find(work->request.group);
  const bool quick = quick_calls_left_ > 0 && work->request.timeout == Duration::zero() &&
                     group != nullptr && group->needs_no_frames(work->request) && inbox_.empty() &&
                     staged_.empty() && engine.idle();
  if (!quick) {
    quick_calls_left_ = quick_calls_max;
    return false;
  }
  --quick_calls_left_;
  submit_now(work, stepped_at_);
  protect([&] {
    const bool yields = core_.yields();
    for (int turn = 0; turn < quick_turns_max && !work->outcome && !wanted(); ++turn) {
      if (yields && turn > 0) yield_core();
      engine.spin(*group, *work, yields ? 1 : checks_per_spin);
    }
  });
  return true;
}

void Driver::start_work(const Work& work) {
  work->clock = Clock::now;
  work->times.submitted = Clock::now();
  callers_.note_caller();
  inbox_.put(work);
  serve_inbox();
}

/// Submits the inbox, then `work` unless it is null. The first bytes are sent at once, also while
/// another thread drives.
void Driver::submit_locked(const Work& work) {
  if (finished_) return;
  const Time now = clock_.now();
  const bool first = !inbox_.stepping();
  inbox_.begin_steps();
  submit_inbox(now);
  if (work) submit_now(work, now);
  step(now);
  if (first) end_steps();
  wake_driver();  // it must learn the new time limit
}

void Driver::submit_now(const Work& work, Time now) {
  if (!staged_.concerns(*work)) return submit_to_engine(work, now);
  if (protect([&] { staged_.add(work); })) return;
  work->outcome.emplace(fail(Errc::os, std::string(out_of_memory)));
  if (work->staged) work->staged->release();
}

void Driver::submit_to_engine(const Work& work, Time now) {
  const bool submitted = protect([&] { parts_.engine->submit(work, now); });
  // If memory ran out, the engine may not have queued it.
  if (!submitted && !work->outcome)
    work->outcome.emplace(fail(Errc::os, std::string(out_of_memory)));
}

void Driver::submit_inbox(Time now) {
  while (!inbox_.empty()) {
    const Work work = inbox_.take();
    if (work) submit_now(work, now);
  }
}

/// Submits what is in the inbox, unless another thread will do that.
void Driver::serve_inbox() {
  while (inbox_.orphaned()) {
    const Lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      // No thread steps the engine, so the mutex is free again within microseconds.
      std::this_thread::yield();
      continue;
    }
    if (finished_) return drop_inbox();
    submit_locked(nullptr);
    hand_off();
  }
}

/// Called by a thread that has stepped the engine, before it unlocks the mutex.
void Driver::end_steps() {
  while (!inbox_.end_steps())
    step(clock_.now());
}

std::optional<Result<>> Driver::wait(const Work& work, Time deadline) {
  const OperationMark mark(work->request.kind, work->request.name);
  Lock lock = enter();
  const auto reached = [&] { return ended(*work); };
  const Operation* const played = work->staged ? nullptr : work.get();
  wait_monotonic(lock, {PredicateRef(reached), deadline, played});
  return outcome(*work);
}

/// Waits for a goal whose deadline is a time of the monotonic clock.
void Driver::wait_monotonic(Lock& lock, Goal goal) {
  const Time now = Clock::now();
  if (now < goal.deadline) {
    if (goal.deadline != Time::max()) goal.deadline = clock_.now() + (goal.deadline - now);
    wait_locked(lock, goal);
  } else if (!driving_ && !goal.reached()) {
    // A driver is not interrupted, because it does all that this thread can do.
    submit_locked(nullptr);
    hand_off();
  }
}

/// `deadline` is a time of clock_.
void Driver::wait_locked(Lock& lock, const Operation& operation, Time deadline) {
  const auto reached = [&] { return ended(operation); };
  wait_locked(lock, {PredicateRef(reached), deadline, &operation});
}

void Driver::wait_locked(Lock& lock, const Goal& goal) {
  ++waiting_;
  const Finally leave([this] {
    --waiting_;
    hand_off();
  });
  protect([&] { wait_or_drive(lock, goal); });
}

std::optional<Result<>> Driver::outcome(const Operation& operation) const {
  std::optional<Result<>> ended = operation.outcome;
  if (ended && !*ended) ended->error().blamed_rank = operation.blamed_rank;
  if (!ended && finished_) ended = fail(Errc::closed, "the context has been finalized");
  return ended;
}

void Driver::wait_or_drive(Lock& lock, const Goal& goal) {
  // A background driver stops for this thread; any other drives until its own operation is done.
  // Once is enough. If each thread woke the driver at every wake-up, they would never sleep.
  wake_driver();
  while (!goal.reached() && (goal.deadline == Time::max() || clock_.now() < goal.deadline)) {
    if (driving_) {
      sleep(lock, goal);
    } else {
      drive(lock, goal);
    }
  }
}

/// Throws nothing: memory may run out again here, on a thread that nobody waits for.
void Driver::abort(std::string_view why) {
  parts_.engine->abort(why);
  try {
    calls_.fail_all({Errc::os, -1, std::string(why)});
  } catch (const std::bad_alloc&) {
    calls_.fail_all({Errc::os, -1, std::string(out_of_memory)});
  }
  wake_sleepers();
  wake_driver();
}

void Driver::sleep(Lock& lock, const Goal& goal) {
  Sleeper self{&goal};
  sleepers_.push_back(&self);
  changed_.wait_until(lock, not_too_late(clock_.wake_up_at(goal.deadline)));
  std::erase(sleepers_, &self);
  if (self.woken) --woken_;
}

/// Hands the store's replies to the calls that wait for them. After a death, waits for keys fail.
void Driver::answer_calls() {
  if (calls_.empty()) return;
  calls_.collect();
  if (const OperationFailure* failure = parts_.engine->aborted()) calls_.fail_waits(*failure);
}

void Driver::wake_waiters() {
  answer_calls();
  wake_sleepers();
}

/// Wakes the sleepers that have reached their goals, each once.
void Driver::wake_sleepers() {
  bool any = false;
  for (Sleeper* sleeper : sleepers_) {
    if (sleeper->woken || !sleeper->goal->reached()) continue;
    sleeper->woken = true;
    ++woken_;
    any = true;
  }
  if (any) changed_.notify_all();
}

void Driver::wake_driver() {
  if (!sleeping_) return;
  if (parts_.mesh) {
    parts_.mesh->wake();
  } else {
    changed_.notify_all();
  }
}

bool Driver::done(const Work& work) {
  const Lock lock = enter();
  return ended(*work);
}

/// Called by a thread that stops waiting. If no thread drives, a sleeper takes over; without one,
/// the background thread does when operations are pending.
void Driver::hand_off() {
  if (driving_) return;
  if (waiting_ > 0 || finished_) {
    changed_.notify_all();
  } else if (pending()) {
    ensure_background();
  }
}

void Driver::ensure_background() {
  if (thread_.joinable()) {
    background_.notify_one();
    return;
  }
  // Operations of a rank that is alone end at once, but for copies.
  if (!parts_.mesh && staged_.empty()) return;
  // The application's signals must not be delivered to this thread.
  const BlockedSignals blocked;
  try {
    thread_ = std::thread([this] { run_background(); });
  } catch (const std::exception&) {
    // No more threads are possible. Operations then proceed only while a thread waits.
  }
}

void Driver::run_background() {
  Lock lock = enter();
  const auto not_needed = [this] { return finished_ || waiting_ > 0 || !pending(); };
  const Goal goal{PredicateRef(not_needed)};
  while (!finished_) {
    if (driving_ || not_needed()) {
      background_.wait(lock);
      continue;
    }
    protect([&] { drive(lock, goal); });
    if (waiting_ > 0 || finished_) changed_.notify_all();
  }
}

void Driver::drive(Lock& lock, const Goal& goal) {
  driving_ = true;
  inbox_.begin_steps();
  const Finally leave([this] {
    if (wait_reporter_.must_update()) protect([this] { report_waits(); });
    driving_ = false;
    end_steps();
  });
  Time now = clock_.now();
  Time spin_until = now + parts_.spin;
  // A new operation first sends what it can, if all sockets were polled not long ago.
  bool polls = goal.operation == nullptr || now - polled_at_ >= poll_every;
  while (true) {
    if (polls) poll_once(now, goal.operation);
    polls = true;
    const bool moved = step(now);
    if (goal.reached() || now >= goal.deadline) return;  // the deadline also while data flows
    if (!moved && now >= spin_until) {
      wait_for_peers(lock, goal.deadline);
      spin_until = clock_.now() + parts_.spin;
    } else if (moved || spin(goal.operation)) {
      spin_until = now + parts_.spin;
    }
    yield_mutex(lock);
    if (goal.reached()) return;
    now = clock_.now();
  }
}

bool Driver::step(Time now) {
  bool moved = false;
  stepped_at_ = now;
  protect([&] {
    if (local_store_) local_store_->expire(now);
    submit_inbox(now);
    moved = step_staged(now);
    moved |= parts_.engine->step(now);
    wake_waiters();  // also when nothing moved: a time limit may have passed
  });
  return moved;
}

/// Moves operations on memory of devices. When others wait in vain, they must learn it.
bool Driver::step_staged(Time now) {
  if (staged_.empty()) return false;
  stop_staged(now);
  const auto progress = staged_.step([&](const Work& work) { submit_to_engine(work, now); });
  if (!progress.result) abort(progress.result.error().message);
  return progress.moved;
}

Result<bool> Driver::sleep_in_mesh(Lock& lock, Time until) {
  sleeping_ = true;
  const Finally awake([&] {  // also when memory runs out for a new connection
    if (!lock) lock.lock();
    sleeping_ = false;
    inbox_.begin_steps();
  });
  if (parts_.mesh) {
    lock.unlock();
    return parts_.mesh->wait(until);
  }
  // A rank that is alone waits only for a time limit or another thread's call.
  changed_.wait_until(lock, until);
  return false;
}

void Driver::wait_for_peers(Lock& lock, Time deadline) {
  if (report_waits()) return;
  Time next = std::min(deadline, parts_.engine->next_deadline());
  if (local_store_) next = std::min(next, local_store_->next_deadline());
  if (staged_.copies()) next = std::min(next, clock_.now() + copies_poll_every);
  const Time until = std::min(not_too_late(clock_.wake_up_at(next)), wait_reporter_.next_update());
  if (!inbox_.end_steps()) return;
  const Result<bool> waited = sleep_in_mesh(lock, until);
  const Time now = clock_.now();
  if (!waited) return lose_launcher(now);
  polled_at_ = now;
  if (*waited) read_rendezvous(now);
}

void Driver::read_rendezvous(Time now) {
  if (!launcher_connected_ || !parts_.client) return;
  const Result<> pumped = parts_.client->pump();
  while (const auto notice = parts_.client->next_notice()) {
    parts_.engine->notice(*notice, now);
    notices_.push_back(*notice);
  }
  if (parts_.client->take_wait_query()) wait_reporter_.query();
  if (!pumped) lose_launcher(now);
  wake_waiters();
}

/// Also called when the application has closed our epoll descriptor: no event can arrive any more.
void Driver::lose_launcher(Time now) {
  if (!launcher_connected_) return;
  launcher_connected_ = false;
  parts_.mesh->forget_rendezvous();
  parts_.engine->launcher_lost(now);
  calls_.fail_all({Errc::peer_lost, -1, "launcher lost"});
  wake_waiters();
}

void Driver::finish() {
  Lock lock = enter();
  finished_ = true;
  wake_driver();
  changed_.notify_all();
  background_.notify_all();
  changed_.wait(lock, [this] { return !driving_ && waiting_ == 0; });
  if (!parts_.engine) return;
  lock.unlock();
  // From here on no other thread uses the members: finished_ excludes them.
  if (thread_.joinable()) thread_.join();
  lock.lock();
  if (parts_.mesh) protect([this] { drain(); });
  parts_.engine.reset();
  staged_.finish();
  drop_inbox();
  parts_.mesh.reset();
  parts_.client.reset();
}

/// Sends what the engine has queued, such as a last refusal, also when a link is full for now.
void Driver::drain() {
  const Time start = clock_.now();
  const Time end = start + drain_timeout;
  while (parts_.engine->step(clock_.now()) && clock_.now() < start + drain_reply_time) {
  }
  parts_.engine->close();
  parts_.mesh->forget_rendezvous();
  while (!parts_.engine->idle() && clock_.now() < end) {
    if (!parts_.engine->step(clock_.now()) && !parts_.mesh->wait(clock_.wake_up_at(end))) break;
  }
  parts_.mesh->drain(clock_.to_monotonic(end));
}

}  // namespace dt
