#include "base/format.h"
#include "comm/api/api_support.h"
#include "comm/device/queued_results.h"
#include "comm/driver/driver.h"
#include "comm/driver/stack_dump.h"
#include "comm/include/dtrain/dtrain_device.h"
#include "comm/include/dtrain/dtrain_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dt {

namespace {

Time deadline_after(int timeout_ms) {
  return timeout_ms < 0 ? Time::max() : Clock::now() + milliseconds(timeout_ms);
}

Result<std::optional<size_t>> wait_any(std::span<dtrain_work* const> works, int timeout_ms) {
  std::vector<const Operation*> operations;
  std::shared_ptr<Context> context;
  for (const dtrain_work* work : works) {
    operations.push_back(work == nullptr ? nullptr : work->work.get());
    if (work == nullptr) continue;
    if (!context) context = TRY(usable(work));
    if (&context->driver() != &work->context->driver())
      return fail(Errc::input, "the works are of two jobs; wait for those of one job at a time");
  }
  if (!context) {
    return fail(Errc::input,
                format("there is no work among the {} of the array to wait for", works.size()));
  }
  return context->driver().wait_any(operations, deadline_after(timeout_ms));
}

/// How often, and how long, a thread drives the engine that waits for results to be queued.
constexpr Duration drive_interval = milliseconds(100);
constexpr Duration drive_time = milliseconds(1);

/// The outcome of a work on memory of the host, and of one that has ended. Else the stream's wait
/// is queued, as soon as the results are. Returns false at the deadline.
Result<bool> wait_on_stream(dtrain_work* work, void* stream, Time deadline) {
  const auto context = TRY(usable(work));
  Driver& driver = context->driver();
  QueuedResults* const results = work->work->results.get();
  if (results != nullptr && !driver.done(work->work)) {
    if (stream == nullptr)
      return fail(Errc::input, "the stream is NULL; the default one is DTRAIN_DEFAULT_STREAM");
    const OperationMark mark(work->work->request.kind, work->work->request.name);
    while (true) {
      const Time until = std::min(deadline, Clock::now() + drive_interval);
      Result<bool> waits = results->let_wait(stream, until);
      if (waits && *waits) return true;
      if (waits) break;
      if (waits.error().code != Errc::timeout) return waits;
      if (until == deadline) return false;
      // Where no background thread could be started, this moves the operation.
      if (driver.wait(work->work, Clock::now() + drive_time)) break;
    }
  }
  const auto ended = driver.wait(work->work, deadline);
  if (!ended) return false;
  TRY(*ended);
  return true;
}

int64_t nanoseconds_of(Time time) {
  return duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

Result<dtrain_times> times_of(dtrain_work* work) {
  const auto context = TRY(usable(work));
  const OperationTimes times = context->driver().times(work->work);
  return dtrain_times{.struct_size = sizeof(dtrain_times),
                      .submitted_ns = nanoseconds_of(times.submitted),
                      .started_ns = nanoseconds_of(times.started),
                      .ended_ns = nanoseconds_of(times.ended)};
}

}  // namespace

}  // namespace dt

int dtrain_wait_any(dtrain_work* const* works, size_t count, int timeout_ms, size_t* index,
                    dtrain_error* error) {
  bool pending = false;
  const int status = dt::report_call(error, [&]() -> dt::Result<> {
    if ((works == nullptr && count > 0) || index == nullptr)
      return dt::fail(dt::Errc::input, "the array of works or the pointer to the index is NULL");
    const std::optional<size_t> found = TRY(dt::wait_any({works, count}, timeout_ms));
    pending = !found;
    if (found) *index = *found;
    return {};
  });
  return pending ? DTRAIN_PENDING : status;
}

int dtrain_work_times(dtrain_work* work, dtrain_times* times, dtrain_error* error) {
  return dt::fill_struct(times, "dtrain_times", error, [&] { return dt::times_of(work); });
}

int dtrain_work_wait_stream(dtrain_work* work, void* stream, int timeout_ms, dtrain_error* error) {
  bool waits = true;
  const int status = dt::report_call(error, [&]() -> dt::Result<> {
    waits = TRY(dt::wait_on_stream(work, stream, dt::deadline_after(timeout_ms)));
    return {};
  });
  return waits ? status : DTRAIN_PENDING;
}
