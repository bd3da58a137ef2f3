#include "gpu/nccl/nccl_communicator.h"

#include "base/format.h"

#include <sysexits.h>
#include <unistd.h>

#include <string_view>
#include <thread>

namespace dt {

namespace {

constexpr Duration abort_max = seconds(10);

/// NCCL has no event for the end of a call in progress.
constexpr Duration poll_interval = milliseconds(1);

/// Returns a part of a buffer, which is null where this rank has none.
template <class Byte>
Byte* part_at(Byte* buffer, size_t bytes) {
  return buffer == nullptr ? nullptr : buffer + bytes;
}

}  // namespace

Result<NcclUniqueId> make_nccl_id(const NcclLibrary& nccl) {
  NcclUniqueId id;
  const NcclStatus status = nccl->get_unique_id(&id);
  if (status != NcclStatus::success) return tl::unexpected(nccl.failure("ncclGetUniqueId", status));
  return id;
}

Result<std::unique_ptr<NcclCommunicator>> NcclCommunicator::join(const NcclLibrary& nccl,
                                                                 const NcclMembership& membership,
                                                                 const NcclWait& wait) {
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator(nccl, membership));
  NcclConfig config;
  config.blocking = 0;
  const NcclStatus status =
      nccl->comm_init(&made->comm_, membership.size, membership.id, membership.rank, &config);
  TRY(made->settle("ncclCommInitRankConfig", status, wait));
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  if (comm_ == nullptr) return;
  if (!failed_ && !wait_for_stop(Duration::zero())) {
    nccl_->comm_destroy(comm_);
    return;
  }
  abort();
}

void NcclCommunicator::abort() {
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto progress = std::make_shared<Progress>();
  std::thread aborting([progress, nccl = nccl_, comm = comm_] {
    // A revoked communicator has no kernel that waits for a peer, so the abort does not either.
    if (nccl->comm_revoke != nullptr) nccl->comm_revoke(comm, 0);
    nccl->comm_abort(comm);
    const std::lock_guard lock(progress->mutex);
    progress->done = true;
    progress->changed.notify_all();
  });
  std::unique_lock lock(progress->mutex);
  if (progress->changed.wait_for(lock, abort_max, [&] { return progress->done; })) {
    lock.unlock();
    aborting.join();
    return;
  }
  // Its kernels may still write to memory of the program, which so must not continue.
  static constexpr std::string_view text =
      "dtrain: NCCL has not aborted a communicator within 10 s; this process ends\n";
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  _exit(EX_SOFTWARE);
}

Result<> NcclCommunicator::check_usable(const char* call) {
  if (const auto stopped = wait_for_stop(Duration::zero())) {
    failed_ = true;
    return tl::unexpected(*stopped);
  }
  if (!failed_) return {};
  return fail(Errc::closed, format("{}: the communicator has failed, and is unusable", call));
}

Result<> NcclCommunicator::run(std::span<const NcclCall> calls, const NcclWait& wait) {
  if (calls.empty()) return {};
  const char* const first = nccl_name(calls.front().kind);
  TRY(check_usable(first));
  for (const NcclCall& call : calls)
    TRY(check(call, {.rank = rank_, .size = size_, .version = nccl_.version()}));
  const NcclStatus begun = nccl_->group_start();
  if (begun != NcclStatus::success) return settle("ncclGroupStart", begun, wait);
  for (const NcclCall& call : calls) {
    const NcclStatus status = start(call);
    if (status == NcclStatus::success || status == NcclStatus::in_progress) continue;
    // NCCL requires the end of each group. Its status repeats the failure.
    nccl_->group_end();
    return settle(nccl_name(call.kind), status, wait);
  }
  const NcclStatus ended = nccl_->group_end();
  return settle(calls.size() == 1 ? first : "ncclGroupEnd", ended, wait);
}

Result<> NcclCommunicator::status(const NcclWait& wait) {
  static constexpr const char* name = "ncclCommGetAsyncError";
  TRY(check_usable(name));
  NcclStatus status = NcclStatus::success;
  const NcclStatus asked = nccl_->comm_async_error(comm_, &status);
  return settle(name, asked == NcclStatus::success ? status : asked, wait);
}

NcclStatus NcclCommunicator::start(const NcclCall& call) {
  const NcclFunctions& nccl = *nccl_.operator->();
  switch (call.kind) {
    case NcclCall::Kind::all_reduce:
      return nccl.all_reduce(call.from, call.to, call.count, call.type, call.op, comm_,
                             call.stream);
    case NcclCall::Kind::reduce:
      return nccl.reduce(call.from, call.to, call.count, call.type, call.op, call.peer, comm_,
                         call.stream);
    case NcclCall::Kind::broadcast:
      return nccl.broadcast(call.from, call.to, call.count, call.type, call.peer, comm_,
                            call.stream);
    case NcclCall::Kind::all_gather:
      return nccl.all_gather(call.from, call.to, call.count, call.type, comm_, call.stream);
    case NcclCall::Kind::reduce_scatter:
      return nccl.reduce_scatter(call.from, call.to, call.count, call.type, call.op, comm_,
                                 call.stream);
    case NcclCall::Kind::send:
      return nccl.send(call.from, call.count, call.type, call.peer, comm_, call.stream);
    case NcclCall::Kind::receive:
      return nccl.receive(call.to, call.count, call.type, call.peer, comm_, call.stream);
    default:
      return start_parts(call);
  }
}

NcclStatus NcclCommunicator::start_parts(const NcclCall& call) {
  using Kind = NcclCall::Kind;
  const NcclFunctions& nccl = *nccl_.operator->();
  const size_t bytes = call.count * nccl_bytes(call.type);
  const auto* const from = static_cast<const std::byte*>(call.from);
  auto* const to = static_cast<std::byte*>(call.to);
  const bool root = call.kind == Kind::all_to_all || call.peer == rank_;
  NcclStatus status = NcclStatus::success;
  const auto note = [&status](NcclStatus one) {
    if (status == NcclStatus::success || status == NcclStatus::in_progress) status = one;
  };
  for (int peer = 0; peer < size_; ++peer) {
    const size_t at = static_cast<size_t>(peer) * bytes;
    const bool to_peer = call.kind == Kind::gather ? call.peer == peer : root;
    const bool from_peer = call.kind == Kind::scatter ? call.peer == peer : root;
    const std::byte* const part = call.kind == Kind::gather ? from : part_at(from, at);
    std::byte* const place = call.kind == Kind::scatter ? to : part_at(to, at);
    // NCCL refuses a rank's send to itself in place.
    const bool in_place = peer == rank_ && part == place;
    if (to_peer && !in_place)
      note(nccl.send(part, call.count, call.type, peer, comm_, call.stream));
    if (from_peer && !in_place)
      note(nccl.receive(place, call.count, call.type, peer, comm_, call.stream));
  }
  return status;
}

void NcclCommunicator::stop(Error why) {
  const std::lock_guard lock(mutex_);
  if (!stop_) stop_ = std::move(why);
  stopped_.notify_all();
}

Result<> NcclCommunicator::settle(const char* call, NcclStatus status, const NcclWait& wait) {
  auto result = settled(call, status, wait);
  if (!result) failed_ = true;
  return result;
}

Result<> NcclCommunicator::settled(const char* call, NcclStatus status, const NcclWait& wait) {
  while (status == NcclStatus::in_progress) {
    const NcclStatus asked = nccl_->comm_async_error(comm_, &status);
    if (asked != NcclStatus::success) status = asked;
    if (status != NcclStatus::in_progress) break;
    if (Clock::now() >= wait.deadline)
      return fail(Errc::timeout, format("{}: NCCL has not completed it in time", call));
    if (wait.watch) TRY(wait.watch());
    if (const auto stopped = wait_for_stop(poll_interval)) return tl::unexpected(*stopped);
  }
  if (status == NcclStatus::success) return {};
  return tl::unexpected(nccl_.failure(call, status, comm_));
}

std::optional<Error> NcclCommunicator::wait_for_stop(Duration time) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, time, [&] { return stop_.has_value(); });
  return stop_;
}

}  // namespace dt
