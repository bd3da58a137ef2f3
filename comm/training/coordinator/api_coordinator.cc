#include "base/format.h"
#include "base/text.h"
#include "comm/api/api_support.h"
#include "comm/api/api_values.h"
#include "comm/api/fork_detector.h"
#include "comm/include/dtrain/dtrain_coordinator.h"
#include "comm/training/coordinator/closure_worker.h"
#include "comm/training/coordinator/coordinator.h"
#include "comm/training/ps/api/connect_servers.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names of C's opaque types
struct dtrain_coordinator {
  std::unique_ptr<dt::Coordinator> coordinator;
  dt::ForkDetector fork_detector;
};
struct dtrain_closure_result {
  dt::Bytes bytes;
};
// NOLINTEND(readability-identifier-naming)

namespace dt {

namespace {

constexpr const char* roles = "--role chief=1 --role worker=2 ./train";
constexpr int workers_min_max = 1 << 20;

/// Joins the job, or shares the connection of the caller's parameter servers.
Result<SharedTask> task_of(const dtrain_init_options* identity, dtrain_ps* ps,
                           const char* function) {
  if (ps != nullptr && identity != nullptr)
    return fail(Errc::input, format("{}: the dtrain_ps has an identity; give no other", function));
  if (ps != nullptr) return share_task(ps);
  JoinedTask joined = TRY(join_task(identity, function, roles));
  SharedTask task = {.rendezvous = nullptr,
                     .claim = std::move(joined.claim),
                     .held_port = joined.held_port,
                     .dead_after = joined.dead_after};
  task.rendezvous = std::make_unique<ClientRendezvousView>(std::move(joined.rendezvous));
  return task;
}

/// Runs the caller's closure.
ClosureOutcome run(const dtrain_closure& closure, ByteSpan argument) {
  dtrain_closure_result result = {};
  dtrain_error error = {};
  error.struct_size = sizeof error;
  const int status = closure.run({argument.data(), argument.size()}, &result, closure.data, &error);
  if (status == DTRAIN_OK) return {.result = std::move(result.bytes)};
  const std::string text(error.text, strnlen(error.text, sizeof error.text));
  return {.error = Error{errc_of(status),
                         text.empty() ? format("it returned {}", status) : printable(text, 500)}};
}

Result<std::map<std::string, ClosureWorker::Function, std::less<>>> functions_of(
    dtrain_closures closures) {
  if (closures.items == nullptr && closures.count > 0)
    return fail(Errc::input, "the closures are NULL");
  std::map<std::string, ClosureWorker::Function, std::less<>> functions;
  for (const dtrain_closure& closure : std::span(closures.items, closures.count)) {
    if (closure.name == nullptr) return fail(Errc::input, "the name of a closure is NULL");
    TRY(check_closure_name(closure.name));
    const std::string name = printable(closure.name);
    if (closure.run == nullptr)
      return fail(Errc::input, format("closure \"{}\": its function is NULL", name));
    const auto added = functions.emplace(
        closure.name, [closure](ByteSpan argument) { return run(closure, argument); });
    if (!added.second) return fail(Errc::input, format("closure \"{}\" is registered twice", name));
  }
  return functions;
}

Result<> serve(dtrain_closures closures, const dtrain_coordinator_serve_options* given) {
  const dtrain_coordinator_serve_options options =
      TRY(read_struct(given, "dtrain_coordinator_serve_options"));
  if (options.timeout_ms < 0) {
    return fail(Errc::input, format("dtrain_coordinator_serve_options.timeout_ms is {}; expected "
                                    "a number from 0",
                                    options.timeout_ms));
  }
  const Duration timeout =
      options.timeout_ms == 0 ? join_timeout_default : milliseconds(options.timeout_ms);
  ClosureWorker::Options worker;
  worker.closures = TRY(functions_of(closures));
  SharedTask task = TRY(task_of(options.identity, options.ps, "dtrain_coordinator_serve"));
  worker.rendezvous = std::move(task.rendezvous);
  worker.claim = std::move(task.claim);
  worker.dead_after = task.dead_after;
  if (options.role != nullptr) worker.coordinator = options.role;
  return ClosureWorker(std::move(worker)).serve(Clock::now() + timeout);
}

Result<std::unique_ptr<dtrain_coordinator>> start(const dtrain_coordinator_options* given) {
  const dtrain_coordinator_options options = TRY(read_struct(given, "dtrain_coordinator_options"));
  if (options.workers_min < 0 || options.workers_min > workers_min_max) {
    return fail(Errc::input, format("dtrain_coordinator_options.workers_min is {}; expected 0 to "
                                    "{}",
                                    options.workers_min, workers_min_max));
  }
  SharedTask task = TRY(task_of(options.identity, options.ps, "dtrain_coordinator_start"));
  Coordinator::Options own;
  own.rendezvous = std::move(task.rendezvous);
  own.claim = std::move(task.claim);
  own.held_port = task.held_port;
  own.dead_after = task.dead_after;
  if (options.role != nullptr) own.workers = options.role;
  if (options.workers_min > 0) own.schedule.workers_min = static_cast<size_t>(options.workers_min);
  if (options.closures_max > 0) own.schedule.closures_max = options.closures_max;
  if (options.bytes_max > 0) own.schedule.bytes_max = options.bytes_max;
  auto made = std::make_unique<dtrain_coordinator>();
  made->coordinator = TRY(Coordinator::start(std::move(own), Clock::now() + join_timeout_default));
  return made;
}

Time deadline_of(int timeout_ms) {
  return timeout_ms < 0 ? Time::max() : Clock::now() + milliseconds(timeout_ms);
}

/// Calls `body` with the coordinator.
template <class Body>
int with_coordinator(dtrain_coordinator* handle, dtrain_error* error, const Body& body) {
  return report_call(error, [&]() -> Result<> {
    if (handle == nullptr) return fail(Errc::input, "the dtrain_coordinator is NULL");
    if (handle->fork_detector.forked())
      return fail(Errc::input, "the dtrain_coordinator belongs to the parent of this process");
    return body(*handle->coordinator);
  });
}

}  // namespace

}  // namespace dt

int dtrain_closure_return(dtrain_closure_result* result, dtrain_bytes bytes, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (result == nullptr) return dt::fail(dt::Errc::input, "the dtrain_closure_result is NULL");
    const dt::ByteSpan copied = TRY(dt::span_of(bytes));
    if (copied.size() > dt::closure_bytes_max) {
      return dt::fail(dt::Errc::refused,
                      dt::format("its result has {} bytes, at most {} are possible", copied.size(),
                                 dt::closure_bytes_max));
    }
    result->bytes.assign(copied.begin(), copied.end());
    return {};
  });
}

int dtrain_coordinator_serve(dtrain_closures closures,
                             const dtrain_coordinator_serve_options* options, dtrain_error* error) {
  return dt::report_call(error, [&] { return dt::serve(closures, options); });
}

dtrain_coordinator* dtrain_coordinator_start(const dtrain_coordinator_options* options,
                                             dtrain_error* error) {
  return dt::make_handle(error, [&] { return dt::start(options); });
}

void dtrain_coordinator_close(dtrain_coordinator* coordinator) {
  // The thread is the parent's: a fork cannot wait for it.
  if (coordinator == nullptr || coordinator->fork_detector.forked()) return;
  const dt::NoCancellation no_cancellation;
  const std::unique_ptr<dtrain_coordinator> owned(coordinator);
}

int dtrain_coordinator_schedule(dtrain_coordinator* coordinator, const char* name,
                                dtrain_bytes argument, int64_t* closure, dtrain_error* error) {
  return dt::with_coordinator(coordinator, error, [&](dt::Coordinator& own) -> dt::Result<> {
    if (name == nullptr) return dt::fail(dt::Errc::input, "the name of a closure is NULL");
    const dt::ByteSpan bytes = TRY(dt::span_of(argument));
    const uint64_t number = TRY(own.schedule(name, bytes, closure != nullptr));
    if (closure != nullptr) *closure = static_cast<int64_t>(number);
    return {};
  });
}

int dtrain_coordinator_join(dtrain_coordinator* coordinator, int timeout_ms, dtrain_error* error) {
  return dt::with_coordinator(coordinator, error, [&](dt::Coordinator& own) -> dt::Result<> {
    return own.join(dt::deadline_of(timeout_ms));
  });
}

int dtrain_coordinator_fetch(dtrain_coordinator* coordinator, int64_t closure, dtrain_value** value,
                             int timeout_ms, dtrain_error* error) {
  if (value != nullptr) *value = nullptr;
  return dt::with_coordinator(coordinator, error, [&](dt::Coordinator& own) -> dt::Result<> {
    if (value == nullptr) return dt::fail(dt::Errc::input, "the pointer to the value is NULL");
    dt::Bytes result = TRY(own.fetch(static_cast<uint64_t>(closure), dt::deadline_of(timeout_ms)));
    *value = dt::value_of(std::move(result)).release();
    return {};
  });
}

int dtrain_coordinator_done(dtrain_coordinator* coordinator, int* done, dtrain_error* error) {
  return dt::with_coordinator(coordinator, error, [&](dt::Coordinator& own) -> dt::Result<> {
    if (done == nullptr) return dt::fail(dt::Errc::input, "the pointer to `done` is NULL");
    *done = own.done() ? 1 : 0;
    return {};
  });
}
