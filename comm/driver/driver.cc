#include "comm/driver/driver.h"

#include "base/finally.h"
#include "comm/collective/operation.h"
#include "comm/driver/stack_dump.h"
#include "comm/engine/groups.h"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <variant>

namespace dt {

namespace {

constexpr Duration drain_timeout = seconds(2);
/// How long drain() still handles arrived messages: some need a reply or must be forwarded.
constexpr Duration drain_reply_time = milliseconds(200);
/// So many calls may follow each other without a full step of the engine.
constexpr int quick_calls_max = 31;
/// How often a driver that has nothing else to do asks for the end of copies.
constexpr Duration copies_poll_every = microseconds(200);
/// How often it asks whether work beside the engine has failed while other ranks are late.
constexpr Duration failures_poll_every = milliseconds(10);
/// Not every system accepts Time::max() for a condition variable.
constexpr Duration sleep_max = std::chrono::hours(1);

Time not_too_late(Time deadline) {
  return std::min(deadline, Clock::now() + sleep_max);
}

/// Sends what the engine has queued, such as a last refusal, also when a link is full for now.
void drain(Engine& engine, Mesh& mesh, RunningTimeClock& clock) {
  const Time start = clock.now();
  const Time end = start + drain_timeout;
  while (engine.step(clock.now()) && clock.now() < start + drain_reply_time) {
  }
  engine.close();
  mesh.forget_rendezvous();
  while (!engine.idle() && clock.now() < end) {
    if (!engine.step(clock.now()) && !mesh.wait(clock.wake_up_at(end))) break;
  }
  mesh.drain(clock.to_monotonic(end));
}

std::string awaited_key(const Request& request) {
  const WaitRequest* wait = std::get_if<WaitRequest>(&request);
  return wait == nullptr ? "" : shown_key(wait->key);
}

}  // namespace

Driver::Driver(Parts parts)
    : engine_(std::move(parts.engine)),
      mesh_(std::move(parts.mesh)),
      spin_(parts.spin),
      rendezvous_({.engine = *engine_,
                   .mesh = mesh_.get(),
                   .client = std::move(parts.client),
                   .stall_after = parts.stall_after}),
      submissions_(*engine_, [this](std::string_view why) { abort(why); }),
      poller_({.engine = *engine_,
               .mesh = mesh_.get(),
               .monitor = monitor_,
               .inbox = submissions_.inbox()},
              parts.yield) {
  if (!mesh_) return;
  const Time now = clock_.now();
  for (const Notice& notice : mesh_->notices())
    engine_->notice(notice, now);
}

Driver::~Driver() {
  finish();
}

Result<> Driver::run(OperationRequest&& request, std::string_view name) {
  Lock lock = monitor_.try_enter();
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
    submissions_.inbox().put(work);
    lock = monitor_.enter();
    if (driving_ && sleeping_) submit_locked(nullptr);
  } else if (driving_) {
    submit_locked(work);
  } else if (!finished_ && !submitted) {
    // This thread drives at once.
    const Time now = clock_.now();
    submissions_.submit_inbox(now);
    submissions_.submit(work, now);
  }
  const auto reached = [&] { return ended(*work); };
  while (!reached())  // a wait fails earlier when memory runs out
    wait_locked(lock, {.reached = PredicateRef(reached), .operation = work.get()});
}

/// Runs an operation in shared memory on an engine without other work, without a clock and without
/// the links. Returns false, and does nothing, for all other operations. Some calls take the long
/// way, so that links and time limits are served. The operation may be pending afterwards.
bool Driver::run_quickly(const Work& work) {
  RankGroup* const group = engine_->groups().find(work->request.group);
  const bool quick = quick_calls_left_ > 0 && work->request.timeout == Duration::zero() &&
                     group != nullptr && group->needs_no_frames(work->request) &&
                     submissions_.inbox().empty() && submissions_.staged().empty() &&
                     engine_->idle();
  if (!quick) {
    quick_calls_left_ = quick_calls_max;
    return false;
  }
  --quick_calls_left_;
  submissions_.submit(work, stepped_at_);
  protect([&] { poller_.spin_quickly(*group, *work); });
  return true;
}

Driver::Work Driver::start(const OperationRequest& request) {
  auto work = std::make_shared<Operation>();
  work->request = request;
  start_staged(work);
  return work;
}

void Driver::start_staged(const Work& work) {
  const OperationMark mark(work->request.kind, work->request.name);
  work->clock = Clock::now;
  work->times.submitted = Clock::now();
  callers_.note_caller();
  submissions_.inbox().put(work);
  // If another thread steps the engine, it takes the operation from the inbox.
  while (submissions_.inbox().orphaned()) {
    const Lock lock = monitor_.try_enter();
    if (!lock) {
      // No thread steps the engine, so the mutex is free again within microseconds.
      std::this_thread::yield();
      continue;
    }
    if (finished_) return submissions_.drop_inbox();
    submit_locked(nullptr);
    hand_off();
  }
}

/// Submits the inbox, then `work` unless it is null. The first bytes are sent at once, also while
/// another thread drives.
void Driver::submit_locked(const Work& work) {
  if (finished_) return;
  const Time now = clock_.now();
  const bool first = !submissions_.inbox().stepping();
  submissions_.inbox().begin_steps();
  submissions_.submit_inbox(now);
  if (work) submissions_.submit(work, now);
  step(now);
  if (first) end_steps();
  wake_driver();  // it must learn the new time limit
}

/// Called by a thread that has stepped the engine, before it unlocks the mutex.
void Driver::end_steps() {
  while (!submissions_.inbox().end_steps())
    step(clock_.now());
}

std::optional<Result<>> Driver::wait(const Work& work, Time deadline) {
  const OperationMark mark(work->request.kind, work->request.name);
  Lock lock = monitor_.enter();
  const auto reached = [&] { return ended(*work); };
  const Operation* const executed = work->staged ? nullptr : work.get();
  wait_monotonic(lock, {PredicateRef(reached), deadline, executed});
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
      monitor_.wait(lock, goal, not_too_late(clock_.wake_up_at(goal.deadline)));
    } else {
      drive(lock, goal);
    }
  }
}

/// Throws nothing: memory may run out again here, on a thread that nobody waits for.
void Driver::abort(std::string_view why) {
  engine_->abort(why);
  try {
    rendezvous_.calls().fail_all({Errc::os, -1, std::string(why)});
  } catch (const std::bad_alloc&) {
    rendezvous_.calls().fail_all({Errc::os, -1, std::string(out_of_memory)});
  }
  monitor_.wake_reached();
  wake_driver();
}

void Driver::wake_waiters() {
  rendezvous_.answer();
  monitor_.wake_reached();
}

void Driver::wake_driver() {
  if (!sleeping_) return;
  if (mesh_) {
    mesh_->wake();
  } else {
    monitor_.wake_all();
  }
}

bool Driver::done(const Work& work) {
  const Lock lock = monitor_.enter();
  return ended(*work);
}

Result<Reply> Driver::ask(const Request& request, Time deadline) {
  Lock lock = monitor_.enter();
  StoreCall call{.awaited_key = awaited_key(request)};
  ++waiting_;
  {
    const Finally leave([&] {
      --waiting_;
      hand_off();
    });
    const bool well = protect([&] { run_call(lock, call, request, deadline); });
    if (!well && !call.answer) call.answer.emplace(fail(Errc::os, std::string(out_of_memory)));
    rendezvous_.calls().remove(call);
    // The next request can be posted.
    protect([this] { wake_waiters(); });
    wake_driver();
  }
  if (call.answer) return *std::move(call.answer);
  if (finished_) return fail(Errc::closed, "the context has been finalized");
  return fail(Errc::timeout, "the rendezvous has not answered in time");
}

void Driver::run_call(Lock& lock, StoreCall& call, const Request& request, Time deadline) {
  if (!call.waits_for_key()) {
    const auto free = [this] { return finished_ || !rendezvous_.calls().busy(); };
    wait_or_drive(lock, {PredicateRef(free), deadline});
    if (rendezvous_.calls().busy()) return;
  }
  if (finished_) return;
  rendezvous_.post(call, request, clock_.now());
  wake_waiters();
  wake_driver();  // it must learn the new time limit
  const auto answered = [&] { return finished_ || call.answer; };
  wait_or_drive(lock, {PredicateRef(answered), deadline});
}

std::vector<Notice> Driver::notices_from(size_t count) {
  const Lock lock = monitor_.enter();
  return rendezvous_.notices_from(count);
}

std::optional<size_t> Driver::wait_any(std::span<const Operation* const> operations,
                                       Time deadline) {
  Lock lock = monitor_.enter();
  const auto has_ended = [this](const Operation* o) { return o != nullptr && ended(*o); };
  const auto reached = [&] { return std::ranges::any_of(operations, has_ended); };
  wait_monotonic(lock, {PredicateRef(reached), deadline});
  const auto first = std::ranges::find_if(operations, has_ended);
  if (first == operations.end()) return std::nullopt;
  return static_cast<size_t>(first - operations.begin());
}

OperationTimes Driver::times(const Work& work) {
  const Lock lock = monitor_.enter();
  return work->times;
}

Time Driver::running_time() {
  const Lock lock = monitor_.enter();
  return clock_.now();
}

void Driver::create_group(uint32_t number, const GroupMembers& members) {
  const Lock lock = monitor_.enter();
  if (finished_) return;
  protect([&] { engine_->groups().create(number, members, clock_.now()); });
}

void Driver::leave_group(uint32_t number) {
  Lock lock = monitor_.enter();
  if (finished_) return;
  protect([&] {
    engine_->leave_group(number);
    step(clock_.now());
  });
  wake_waiters();
  hand_off();
  // Copies may still use the callers' buffers.
  const auto left = [&] { return finished_ || !submissions_.staged().has_group(number); };
  if (!left()) wait_locked(lock, {PredicateRef(left)});
}

Result<> Driver::run_staged(const Work& work) {
  work->request.blocks = callers_.note_caller();
  start_staged(work);
  while (true) {
    auto ended = wait(work, Time::max());
    if (ended) return *std::move(ended);  // a wait fails earlier when memory runs out
  }
}

void Driver::note_group_wait(std::optional<RankWait> wait, Time since) {
  const Lock lock = monitor_.enter();
  rendezvous_.reporter().set_group_wait(std::move(wait), since);
  wake_driver();
}

/// Called by a thread that stops waiting. If no thread drives, a sleeper takes over; without one,
/// the background thread does when operations are pending.
void Driver::hand_off() {
  if (driving_) return;
  if (waiting_ > 0 || finished_) {
    monitor_.wake_all();
  } else if (pending() && (mesh_ || background_.begun() || !submissions_.staged().empty())) {
    // Operations of a rank that is alone end at once, but for copies.
    background_.need([this] { run_background(); });
  }
}

void Driver::run_background() {
  Lock lock = monitor_.enter();
  const auto not_needed = [this] { return finished_ || waiting_ > 0 || !pending(); };
  const Goal goal{PredicateRef(not_needed)};
  while (!finished_) {
    if (driving_ || not_needed()) {
      background_.wait(lock);
      continue;
    }
    protect([&] { drive(lock, goal); });
    if (waiting_ > 0 || finished_) monitor_.wake_all();
  }
}

void Driver::drive(Lock& lock, const Goal& goal) {
  driving_ = true;
  submissions_.inbox().begin_steps();
  const Finally leave([this] {
    if (rendezvous_.reporter().must_update()) protect([this] { report_waits(); });
    driving_ = false;
    end_steps();
  });
  Time now = clock_.now();
  Time spin_until = now + spin_;
  // A new operation first sends what it can, if all sockets were polled not long ago.
  bool polls = goal.operation == nullptr || poller_.due(now);
  while (true) {
    if (polls) read_arrivals(poller_.poll(now, goal.operation), now);
    polls = true;
    const bool moved = step(now);
    if (goal.reached() || now >= goal.deadline) return;  // the deadline also while data flows
    if (!moved && now >= spin_until) {
      wait_for_peers(lock, goal.deadline);
      spin_until = clock_.now() + spin_;
    } else if (moved || poller_.spin(goal.operation)) {
      spin_until = now + spin_;
    }
    monitor_.yield(lock);
    if (goal.reached()) return;
    now = clock_.now();
  }
}

bool Driver::step(Time now) {
  bool moved = false;
  stepped_at_ = now;
  protect([&] {
    rendezvous_.expire(now);
    submissions_.submit_inbox(now);
    moved = submissions_.step_staged(now);
    moved |= engine_->step(now);
    wake_waiters();  // also when nothing moved: a time limit may have passed
  });
  return moved;
}

void Driver::wait_for_peers(Lock& lock, Time deadline) {
  if (report_waits()) return;
  Time next = std::min({deadline, engine_->next_deadline(), rendezvous_.next_deadline()});
  const StagedOperations& staged = submissions_.staged();
  if (staged.copies()) next = std::min(next, clock_.now() + copies_poll_every);
  if (staged.compares()) next = std::min(next, clock_.now() + failures_poll_every);
  const Time until =
      std::min(not_too_late(clock_.wake_up_at(next)), rendezvous_.reporter().next_update());
  if (!submissions_.inbox().end_steps()) return;
  Result<bool> waited = false;
  {
    sleeping_ = true;
    const Finally awake([&] {  // also when memory runs out for a new connection
      if (!lock) lock.lock();
      sleeping_ = false;
      submissions_.inbox().begin_steps();
    });
    if (mesh_) {
      lock.unlock();
      waited = mesh_->wait(until);
    } else {
      // A rank that is alone waits only for a time limit or another thread's call.
      monitor_.wait(lock, until);
    }
  }
  const Time now = clock_.now();
  if (waited) poller_.note_poll(now);
  read_arrivals(waited, now);
}

/// Reads from the rendezvous if Mesh::wait() found something to read, or its failure.
void Driver::read_arrivals(const Result<bool>& polled, Time now) {
  if (polled && !*polled) return;
  if (polled) rendezvous_.read(now);
  if (!polled) rendezvous_.lose(now);
  wake_waiters();
}

/// Returns true when operations may have ended.
bool Driver::report_waits() {
  if (!rendezvous_.report_waits(clock_.now())) return false;
  wake_waiters();
  return true;
}

void Driver::finish() {
  Lock lock = monitor_.enter();
  finished_ = true;
  wake_driver();
  monitor_.wake_all();
  background_.wake();
  while (driving_ || waiting_ > 0)
    monitor_.wait(lock);
  if (!engine_) return;
  lock.unlock();
  // From here on no other thread uses the members: finished_ excludes them.
  background_.join();
  lock.lock();
  if (mesh_) protect([this] { drain(*engine_, *mesh_, clock_); });
  engine_.reset();
  submissions_.finish();
  mesh_.reset();
  rendezvous_.close();
}

}  // namespace dt
