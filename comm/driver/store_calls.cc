#include "comm/driver/store_calls.h"

#include <algorithm>
#include <new>
#include <utility>

namespace dt {

namespace {

void end(StoreCall& call, const OperationFailure& why) {
  if (call.answer) return;
  try {
    call.answer.emplace(fail(why.code, why.reason, why.blamed_rank));
  } catch (const std::bad_alloc&) {
    call.answer.emplace(fail(why.code, std::string(out_of_memory), why.blamed_rank));
  }
}

}  // namespace

bool StoreCalls::busy() const {
  return std::ranges::any_of(calls_, [](const StoreCall* call) { return !call->waits_for_key(); });
}

size_t StoreCalls::waits() const {
  return static_cast<size_t>(std::ranges::count_if(
      calls_, [](const StoreCall* call) { return call->waits_for_key() && !call->answer; }));
}

std::vector<std::string> StoreCalls::awaited_keys() const {
  std::vector<std::string> keys;
  for (const StoreCall* call : calls_)
    if (call->waits_for_key() && !call->answer) keys.push_back(call->awaited_key);
  return keys;
}

void StoreCalls::post(StoreCall& call, const Request& request, Time now) {
  if (failure_) return end(call, *failure_);
  if (wait_failure_ && call.waits_for_key()) return end(call, *wait_failure_);
  const Result<uint32_t> posted = port_.post(request, now);
  if (!posted) {
    call.answer.emplace(tl::unexpected(posted.error()));
    return;
  }
  call.id = *posted;
  calls_.push_back(&call);
}

void StoreCalls::remove(StoreCall& call) {
  if (std::erase(calls_, &call) > 0) port_.forget(*call.id);
}

void StoreCalls::collect() {
  for (StoreCall* call : calls_) {
    if (call->answer) continue;
    if (std::optional<Reply> reply = port_.take_reply(*call->id))
      call->answer.emplace(*std::move(reply));
  }
}

void StoreCalls::fail_waits(const OperationFailure& why) {
  if (!wait_failure_) wait_failure_ = why;
  for (StoreCall* call : calls_)
    if (call->waits_for_key()) end(*call, *wait_failure_);
}

void StoreCalls::fail_all(OperationFailure why) {
  if (!failure_) failure_.emplace(std::move(why));
  for (StoreCall* call : calls_)
    end(*call, *failure_);
}

}  // namespace dt
