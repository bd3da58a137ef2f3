#include "comm/training/strategy/replica_meeting.h"

#include "base/format.h"
#include "comm/api/api_support.h"

#include <algorithm>
#include <utility>

namespace dt {

void ReplicaMeeting::begin() {
  const std::lock_guard lock(mutex_);
  std::ranges::fill(calls_, std::nullopt);
  arrived_ = left_ = 0;
  failure_.reset();
}

Result<> ReplicaMeeting::meet(size_t replica, Call call, const Together& together) {
  std::unique_lock lock(mutex_);
  if (failure_) return failed();
  if (left_ > 0) {
    fail_step(
        {.error = {Errc::mismatch, format("replica {} calls {}, but replica {} has ended its step",
                                          first_ + replica, call.text, first_ + first_left_)}});
    return failed();
  }
  calls_[replica] = std::move(call);
  if (++arrived_ < calls_.size()) {
    const uint64_t meeting = meetings_;
    changed_.wait(lock, [&] { return meetings_ != meeting || failure_; });
    return meetings_ != meeting ? Result<>() : Result<>(failed());
  }
  std::vector<void*> arguments;
  for (const auto& each : calls_)
    arguments.push_back(each->arguments);
  Result<> result = compare();
  if (result) {
    // All others wait, so that nobody changes anything meanwhile.
    lock.unlock();
    result = guarded([&] { return together(arguments); });
    lock.lock();
  }
  std::ranges::fill(calls_, std::nullopt);
  arrived_ = 0;
  if (!result) {
    fail_step({.error = result.error()});
    return failed();
  }
  ++meetings_;
  changed_.notify_all();
  return {};
}

void ReplicaMeeting::leave(size_t replica, const Result<>& outcome) {
  const std::lock_guard lock(mutex_);
  if (!outcome) {
    fail_step({.replica = replica, .error = outcome.error()});
    return;
  }
  if (left_++ == 0) first_left_ = replica;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i]) continue;
    fail_step({.error = {Errc::mismatch,
                         format("replica {} has ended its step, but replica {} waits in {}",
                                first_ + replica, first_ + i, calls_[i]->text)}});
  }
}

std::optional<ReplicaFailure> ReplicaMeeting::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Result<> ReplicaMeeting::compare() const {
  for (size_t i = 1; i < calls_.size(); ++i) {
    if (calls_[i]->text == calls_[0]->text) continue;
    return fail(Errc::mismatch, format("replica {} calls {}, but replica {} calls {}", first_,
                                       calls_[0]->text, first_ + i, calls_[i]->text));
  }
  return {};
}

void ReplicaMeeting::fail_step(ReplicaFailure failure) {
  if (!failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

tl::unexpected<Error> ReplicaMeeting::failed() const {
  Error error = failure_->error;
  if (!failure_->replica) return tl::unexpected(std::move(error));
  return tl::unexpected(
      std::move(error).during(format("replica {} failed", first_ + *failure_->replica)));
}

}  // namespace dt
