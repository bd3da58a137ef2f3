#include "comm/collective/shared_communicator.h"

#include "comm/collective/descriptor.h"

#include <algorithm>
#include <cassert>

namespace dt {

namespace {

/// step() returns after so many bytes, so that submissions and notices are handled in time.
constexpr size_t step_bytes_max = size_t{512} << 10;

}  // namespace

SharedCommunicator::SharedCommunicator(std::shared_ptr<SharedArea> area, std::vector<int> ranks)
    : area_(std::move(area)),
      ranks_(std::move(ranks)),
      called_(ranks_.size()),
      mailbox_transfer_(*area_),
      reduce_transfer_(*area_),
      copy_transfer_(*area_),
      exchange_transfer_(*area_),
      direct_transfer_(*area_) {
  assert(ranks_.size() == static_cast<size_t>(area_->members()));
}

void SharedCommunicator::start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
                               Time now) {
  assert(state_ != State::running);
  request_ = &request;
  state_ = State::running;
  transfer_ = nullptr;
  ++round_;
  call_hash_ = call_hash(request, sequence);
  first_limit_ = limit;
  waiting_ = static_cast<int>(ranks_.size()) - 1;
  std::fill(called_.begin(), called_.end(), false);
  called_[static_cast<size_t>(area_->self())] = true;

  Mailbox& own = area_->mailbox(area_->self(), round_);
  own.call_hash = call_hash_;
  own.timeout_ns = limit.timeout.count();
  own.remaining_ns = limit.end == Time::max() ? 0 : (limit.end - now).count();
  small_ = mailbox_transfer_.start(request, round_);
  if (small_) {
    mailbox_transfer_.send();
  } else {
    direct_transfer_.announce(own, request);
  }
  area_->publish(own.round, round_);
}

bool SharedCommunicator::step(Time now) {
  if (state_ != State::running) return false;
  if (direct_transfer_.running()) return step_direct();
  if (transfer_ != nullptr) return step_blocks();
  const bool moved = await_calls(now);
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
    if (call.round.load(std::memory_order_acquire) != round_) continue;
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
  if (!plays(request_->kind)) {
    state_ = State::agreed;
    return;
  }
  if (small_) {
    mailbox_transfer_.receive();
    state_ = State::done;
    return;
  }
  if (direct_transfer_.start(*request_, round_, position_.end)) {
    position_.end = direct_transfer_.end();
    step_direct();
    return;
  }
  transfer_ = &transfer_of(request_->kind);
  transfer_->start(*request_);
  const uint64_t begin = position_.end;
  position_ = {.begin = begin,
               .end = begin + transfer_->blocks(),
               .sent = begin,
               .reduced = begin,
               .received = begin};
  step_blocks();
}

BlockTransfer& SharedCommunicator::transfer_of(OperationKind kind) {
  if (reduces(kind)) return reduce_transfer_;
  if (kind == OperationKind::scatter || kind == OperationKind::all_to_all)
    return exchange_transfer_;
  return copy_transfer_;
}

bool SharedCommunicator::step_direct() {
  bool moved = direct_transfer_.step(step_bytes_max);
  if (direct_transfer_.finish()) {
    state_ = State::done;
    moved = true;
  }
  return moved;
}

void SharedCommunicator::cancel() {
  if (request_ != nullptr) direct_transfer_.cancel(round_);
  state_ = State::idle;
}

bool SharedCommunicator::step_blocks() {
  size_t moved = 0;
  bool any = false;
  while (state_ == State::running && moved < step_bytes_max) {
    const uint64_t before = position_.sent + position_.reduced + position_.received;
    moved += move_block();
    if (position_.sent + position_.reduced + position_.received == before) break;
    any = true;
    if (position_.received == position_.end) state_ = State::done;
  }
  return any;
}

/// Moves one block by one phase. The last phase comes first: it frees slots.
size_t SharedCommunicator::move_block() {
  const Counter ready = transfer_->reduces() ? &Progress::reduced : &Progress::sent;
  if (position_.received < position_.reduced && all_beyond(ready, position_.received))
    return receive_block();
  if (position_.reduced < position_.sent &&
      (!transfer_->reduces() || (all_beyond(&Progress::sent, position_.reduced) &&
                                 slot_is_free(&Progress::received, position_.reduced))))
    return reduce_block();
  const Counter read = transfer_->reduces() ? &Progress::reduced : &Progress::received;
  if (position_.sent < position_.end && slot_is_free(read, position_.sent)) return send_block();
  return 0;
}

size_t SharedCommunicator::send_block() {
  const size_t bytes = transfer_->send(block(position_.sent));
  area_->publish(area_->progress(area_->self()).sent, ++position_.sent);
  return bytes;
}

size_t SharedCommunicator::reduce_block() {
  const size_t bytes = transfer_->reduce(block(position_.reduced));
  ++position_.reduced;
  if (transfer_->reduces())
    area_->publish(area_->progress(area_->self()).reduced, position_.reduced);
  return bytes;
}

size_t SharedCommunicator::receive_block() {
  const size_t bytes = transfer_->receive(block(position_.received));
  area_->publish(area_->progress(area_->self()).received, ++position_.received);
  return bytes;
}

/// True when every other member has published more than `block` blocks; else *behind is one that
/// has not.
bool SharedCommunicator::all_beyond(Counter counter, uint64_t block, int* behind) const {
  for (int member = 0; member < area_->members(); ++member) {
    if (member == area_->self()) continue;
    if ((area_->progress(member).*counter).load(std::memory_order_acquire) > block) continue;
    if (behind != nullptr) *behind = member;
    return false;
  }
  return true;
}

/// True when the others have read the block that used this block's slot before.
bool SharedCommunicator::slot_is_free(Counter counter, uint64_t block) const {
  return block < position_.begin + SharedArea::depth ||
         all_beyond(counter, block - SharedArea::depth);
}

int SharedCommunicator::waits_for() const {
  if (state_ != State::running) return -1;
  if (direct_transfer_.running()) {
    const int member = direct_transfer_.waits_for();
    return member < 0 ? -1 : ranks_[static_cast<size_t>(member)];
  }
  int behind = -1;
  if (transfer_ == nullptr) {
    const auto missing = std::find(called_.begin(), called_.end(), false);
    return missing == called_.end() ? -1 : ranks_[static_cast<size_t>(missing - called_.begin())];
  }
  for (const Counter counter : {&Progress::sent, &Progress::reduced, &Progress::received})
    if (!all_beyond(counter, position_.received, &behind)) break;
  return behind < 0 ? -1 : ranks_[static_cast<size_t>(behind)];
}

bool SharedCommunicator::needs(int rank) const {
  if (direct_transfer_.running()) {
    const auto member = std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
    return direct_transfer_.needs(static_cast<int>(member));
  }
  if (state_ != State::running || transfer_ != nullptr) return waits_for() == rank;
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
