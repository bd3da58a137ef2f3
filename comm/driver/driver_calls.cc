// The driver's calls to the job's store, about groups, about operations that were started, and on
// memory of devices.
#include "base/finally.h"
#include "base/format.h"
#include "comm/collective/operation.h"
#include "comm/driver/driver.h"
#include "comm/driver/stack_dump.h"
#include "comm/engine/groups.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace dt {

namespace {

/// After a rank has left, NCCL's kernels here end in microseconds, or never.
constexpr Duration leave_grace = seconds(2);

std::string awaited_key(const Request& request) {
  const WaitRequest* wait = std::get_if<WaitRequest>(&request);
  return wait == nullptr ? "" : shown_key(wait->key);
}

}  // namespace

Result<Reply> Driver::ask(const Request& request, Time deadline) {
  Lock lock = enter();
  StoreCall call{.awaited_key = awaited_key(request)};
  ++waiting_;
  {
    const Finally leave([&] {
      --waiting_;
      hand_off();
    });
    const bool well = protect([&] { run_call(lock, call, request, deadline); });
    if (!well && !call.answer) call.answer.emplace(fail(Errc::os, std::string(out_of_memory)));
    calls_.remove(call);
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
    const auto free = [this] { return finished_ || !calls_.busy(); };
    wait_or_drive(lock, {PredicateRef(free), deadline});
    if (calls_.busy()) return;
  }
  if (finished_) return;
  const Time now = clock_.now();
  if (const OperationFailure* failure = parts_.engine->aborted()) calls_.fail_waits(*failure);
  calls_.post(call, request, now);
  read_rendezvous(now);  // which also sends
  wake_waiters();
  wake_driver();  // it must learn the new time limit
  const auto answered = [&] { return finished_ || call.answer; };
  wait_or_drive(lock, {PredicateRef(answered), deadline});
}

std::vector<Notice> Driver::notices_from(size_t count) {
  const Lock lock = enter();
  if (count >= notices_.size()) return {};
  return {notices_.begin() + static_cast<std::ptrdiff_t>(count), notices_.end()};
}

std::optional<size_t> Driver::wait_any(std::span<const Operation* const> operations,
                                       Time deadline) {
  Lock lock = enter();
  const auto has_ended = [this](const Operation* o) { return o != nullptr && ended(*o); };
  const auto reached = [&] { return std::ranges::any_of(operations, has_ended); };
  wait_monotonic(lock, {PredicateRef(reached), deadline});
  const auto first = std::ranges::find_if(operations, has_ended);
  if (first == operations.end()) return std::nullopt;
  return static_cast<size_t>(first - operations.begin());
}

OperationTimes Driver::times(const Work& work) {
  const Lock lock = enter();
  return work->times;
}

Time Driver::running_time() {
  const Lock lock = enter();
  return clock_.now();
}

void Driver::create_group(uint32_t number, const GroupMembers& members) {
  const Lock lock = enter();
  if (finished_) return;
  protect([&] { parts_.engine->groups().create(number, members, clock_.now()); });
}

void Driver::leave_group(uint32_t number) {
  Lock lock = enter();
  if (finished_) return;
  protect([&] {
    parts_.engine->leave_group(number);
    step(clock_.now());
  });
  wake_waiters();
  hand_off();
  // Copies may still use the callers' buffers.
  const auto left = [&] { return finished_ || !staged_.has_group(number); };
  if (!left()) wait_locked(lock, {PredicateRef(left)});
}

Driver::Work Driver::start(const OperationRequest& request) {
  const OperationMark mark(request.kind, request.name);
  auto work = std::make_shared<Operation>();
  work->request = request;
  start_work(work);
  return work;
}

void Driver::start_staged(const Work& work) {
  const OperationMark mark(work->request.kind, work->request.name);
  start_work(work);
}

/// Ends work behind the engine that other ranks will not end. One that has left may have ended its
/// part before, so that the work here gets some time.
void Driver::stop_staged(Time now) {
  auto lost = staged_.others_work() ? parts_.engine->lost() : std::nullopt;
  const bool in_slots = !lost && staged_.others_work_in_slots();
  if (in_slots) lost = parts_.engine->groups().find(0)->failed_by_name();
  if (!lost) return staged_lost_at_.reset();
  if (!staged_lost_at_) staged_lost_at_ = now;
  if (parts_.engine->aborted() != nullptr || now - *staged_lost_at_ >= leave_grace)
    staged_.stop(*lost, in_slots);
}

Result<> Driver::run_staged(const Work& work) {
  work->request.blocks = callers_.note_caller();
  start_staged(work);
  while (true) {
    auto ended = wait(work, Time::max());
    if (ended) return *std::move(ended);  // a wait fails earlier when memory runs out
  }
}

/// Called after the end of the engine: no stream may wait for operations that came too late.
void Driver::drop_inbox() {
  while (!inbox_.empty()) {
    const Work work = inbox_.take();
    if (!work || !work->staged) continue;
    work->staged->release();
    work->staged->finish();
  }
}

}  // namespace dt
