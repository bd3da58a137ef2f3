#include "comm/collective/shared_communicator.h"

#include "comm/collective/descriptor.h"

#include <algorithm>
#include <cassert>

namespace dt {

namespace {

/// step() returns after so many bytes, so that submissions and notices are handled in time.
constexpr size_t step_bytes_max = size_t{512} << 10;

/// Two members read half of each other's buffers in an all_reduce. Small buffers lie in the caches
/// of single cores, and slots in the shared one. So slots are faster below this size.
constexpr size_t pair_direct_bytes_min = size_t{2} << 20;

bool prefers_slots(const OperationRequest& request, int members) {
  return request.kind == OperationKind::all_reduce && members == 2 &&
         request.count < pair_direct_bytes_min / element_bytes(request.type);
}

}  // namespace

SharedCommunicator::SharedCommunicator(std::shared_ptr<SharedArea> area, std::vector<int> ranks)
    : area_(std::move(area)),
      ranks_(std::move(ranks)),
      called_(ranks_.size()),
      layout_(area_->members(), area_->self()),
      mailbox_transfer_(*area_, layout_),
      reduce_transfer_(*area_),
      copy_transfer_(*area_, layout_),
      direct_transfer_(*area_),
      blocks_(*area_) {
  assert(ranks_.size() == static_cast<size_t>(area_->members()));
}

void SharedCommunicator::start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
                               Time now) {
  const MailboxRound round = MailboxRound::of(sequence);
  Mailbox& own = area_->mailbox(area_->self(), round);
  own.remaining_ns = limit.end == Time::max() ? 0 : (limit.end - now).count();
  announce(request, round, call_hash(request, sequence), limit);
}

void SharedCommunicator::announce(const OperationRequest& request, MailboxRound round,
                                  uint64_t hash, const CallLimit& limit) {
  assert(state_ != State::running);
  request_ = &request;
  state_ = State::running;
  in_blocks_ = false;
  round_ = round;
  call_hash_ = hash;
  first_limit_ = limit;
  waiting_ = static_cast<int>(ranks_.size()) - 1;
  std::fill(called_.begin(), called_.end(), false);
  called_[static_cast<size_t>(area_->self())] = true;

  Mailbox& own = area_->mailbox(area_->self(), round_);
  own.call_hash = call_hash_;
  own.timeout_ns = limit.timeout.count();
  if (runs_request()) {
    mailbox_transfer_.start(request, round_);
    mailbox_transfer_.post();
    if (mailbox_transfer_.may_be_large()) announce_large(own);
  }
  // The others are woken after the first look at their calls, so that two lines move at once.
  SharedArea::store(own.round, round_.number);
  must_wake_ = true;
}

void SharedCommunicator::wake_others() {
  if (must_wake_) area_->wake_others();
  must_wake_ = false;
}

void SharedCommunicator::announce_large(Mailbox& own) const {
  Mailbox::LargeCall call{.blocks = blocks_.end()};
  direct_transfer_.announce(call, *request_);
  own.set_large(call);
}

bool SharedCommunicator::step(Time now) {
  if (state_ != State::running) return false;
  if (direct_transfer_.running()) return step_direct();
  if (in_blocks_) return step_blocks();
  const bool moved = await_calls(now);
  wake_others();
  if (state_ != State::running || waiting_ > 0) return moved;
  begin();
  return true;
}

/// Compares the calls that others have made meanwhile with this member's; true for new ones.
bool SharedCommunicator::await_calls(Time now) {
  bool moved = false;
  for (int member = 0; member < area_->members() && waiting_ > 0; ++member) {
    if (called_[static_cast<size_t>(member)]) continue;
    const Mailbox& call = area_->mailbox(member, round_);
    if (runs_request()) mailbox_transfer_.prefetch(member);
    if (call.round.load(std::memory_order_acquire) != round_.number) continue;
    note_call(member, call, now);
    moved = true;
    if (state_ == State::mismatch) break;
  }
  return moved;
}

void SharedCommunicator::note_call(int member, const Mailbox& call, Time now) {
  called_[static_cast<size_t>(member)] = true;
  --waiting_;
  if (call.call_hash != call_hash_) {
    state_ = State::mismatch;
    return;
  }
  if (call.timeout_ns <= 0 || Duration(call.remaining_ns) >= Time::max() - now) return;
  const Time end = now + Duration(call.remaining_ns);
  if (end < first_limit_.end) first_limit_ = {Duration(call.timeout_ns), end};
}

/// All members have made the same call, and are thus done with the operation before it.
void SharedCommunicator::begin() {
  if (!runs_request()) {
    state_ = State::agreed;
    return;
  }
  if (mailbox_transfer_.lay_out()) {
    mailbox_transfer_.receive();
    state_ = State::done;
    area_->fetch_mailbox(round_.of_next_call(), small_inputs_[0]);
    small_inputs_ = {small_inputs_[1], mailbox_transfer_.input_bytes()};
    return;
  }
  const uint64_t first = first_block();
  if (!prefers_slots(*request_, area_->members()) &&
      direct_transfer_.start(*request_, round_, first)) {
    blocks_.skip_to(direct_transfer_.end());
    step_direct();
    return;
  }
  begin_blocks(first);
}

/// The number of the operation's first block. A member that has aborted an operation may have
/// missed some blocks of it.
uint64_t SharedCommunicator::first_block() const {
  uint64_t first = 0;
  for (int member = 0; member < area_->members(); ++member)
    first = std::max(first, area_->mailbox(member, round_).large().blocks);
  return first;
}

void SharedCommunicator::begin_blocks(uint64_t first) {
  in_blocks_ = true;
  if (reduces(request_->kind)) {
    reduce_transfer_.start(*request_);
    blocks_.start(reduce_transfer_, first);
  } else {
    copy_transfer_.start(*request_);
    blocks_.start(copy_transfer_, first);
  }
  step_blocks();
}

bool SharedCommunicator::step_direct() {
  bool moved = direct_transfer_.step(step_bytes_max);
  if (direct_transfer_.finish()) {
    state_ = State::done;
    moved = true;
  }
  return moved;
}

bool SharedCommunicator::step_blocks() {
  const bool moved = blocks_.step(step_bytes_max);
  if (blocks_.done()) state_ = State::done;
  return moved;
}

void SharedCommunicator::cancel() {
  wake_others();
  // After the end of the call, others may still check that it was not aborted.
  if (state_ == State::running) {
    direct_transfer_.cancel(round_);
    if (has_own_counts(request_->kind)) request_->result->clear();
  }
  state_ = State::idle;
}

int SharedCommunicator::waits_for() const {
  if (state_ != State::running) return -1;
  if (direct_transfer_.running()) return rank_of(direct_transfer_.waits_for());
  if (in_blocks_) return rank_of(blocks_.waits_for());
  const auto missing = std::find(called_.begin(), called_.end(), false);
  return missing == called_.end() ? -1 : rank_of(static_cast<int>(missing - called_.begin()));
}

bool SharedCommunicator::needs(int rank) const {
  if (direct_transfer_.running()) {
    const auto member = std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
    return direct_transfer_.needs(static_cast<int>(member));
  }
  if (state_ != State::running || in_blocks_) return waits_for() == rank;
  const auto member = std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
  return !called_[static_cast<size_t>(member)];
}

std::vector<int> SharedCommunicator::missing() const {
  std::vector<int> ranks;
  for (size_t member = 0; member < ranks_.size(); ++member)
    if (!called_[member]) ranks.push_back(ranks_[member]);
  return ranks;
}

}  // namespace dt
