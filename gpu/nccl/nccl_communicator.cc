#include "gpu/nccl/nccl_communicator.h"

#include "base/format.h"

namespace dt {

namespace {

/// NCCL has no event for the end of a call in progress.
constexpr Duration poll_interval = milliseconds(1);

}  // namespace

Result<NcclUniqueId> make_nccl_id(const NcclLibrary& nccl) {
  NcclUniqueId id;
  const NcclStatus status = nccl->get_unique_id(&id);
  if (status != NcclStatus::success) return tl::unexpected(nccl.failure("ncclGetUniqueId", status));
  return id;
}

Result<std::unique_ptr<NcclCommunicator>> NcclCommunicator::join(const NcclLibrary& nccl,
                                                                 const NcclMembership& membership,
                                                                 Time deadline) {
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator(nccl, membership.rank));
  NcclConfig config;
  config.blocking = 0;
  const NcclStatus status =
      nccl->comm_init(&made->comm_, membership.size, membership.id, membership.rank, &config);
  TRY(made->settle("ncclCommInitRankConfig", status, deadline));
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  if (comm_ == nullptr) return;
  if (!failed_) {
    nccl_->comm_destroy(comm_);
    return;
  }
  // A revoked communicator has no kernel that waits for a peer, so the abort does not either.
  if (nccl_->comm_revoke != nullptr) nccl_->comm_revoke(comm_, 0);
  nccl_->comm_abort(comm_);
}

Result<> NcclCommunicator::all_reduce(const NcclAllReduce& call, Time deadline) {
  if (const auto stopped = wait_for_stop(Duration::zero())) {
    failed_ = true;
    return tl::unexpected(*stopped);
  }
  if (failed_)
    return fail(Errc::closed, "ncclAllReduce: the communicator has failed, and is unusable");
  const NcclStatus status =
      nccl_->all_reduce(call.from, call.to, call.count, call.type, call.op, comm_, call.stream);
  return settle("ncclAllReduce", status, deadline);
}

void NcclCommunicator::stop(Error why) {
  const std::lock_guard lock(mutex_);
  if (!stop_) stop_ = std::move(why);
  stopped_.notify_all();
}

Result<> NcclCommunicator::settle(const char* call, NcclStatus status, Time deadline) {
  auto result = settled(call, status, deadline);
  if (!result) failed_ = true;
  return result;
}

Result<> NcclCommunicator::settled(const char* call, NcclStatus status, Time deadline) {
  while (status == NcclStatus::in_progress) {
    const NcclStatus asked = nccl_->comm_async_error(comm_, &status);
    if (asked != NcclStatus::success) status = asked;
    if (status != NcclStatus::in_progress) break;
    if (Clock::now() >= deadline)
      return fail(Errc::timeout, format("{}: NCCL has not completed it in time", call));
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
