#include "comm/group/call_check.h"

#include "base/format.h"
#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dt {

namespace {

/// A collective over links that has not ended after this time, or after half of its limit, is late.
constexpr Duration late_after = milliseconds(100);

/// True when a rank that has not made the call can buffer all data that others send it. In
/// collectives with a count for each rank, others send such a rank the counts alone.
bool is_small(const OperationRequest& request, int size, size_t bytes_max) {
  if (request.kind == OperationKind::barrier || has_own_counts(request.kind)) return true;
  const size_t bytes = bytes_of(request);
  const bool one_buffer = request.kind == OperationKind::all_reduce ||
                          request.kind == OperationKind::broadcast ||
                          request.kind == OperationKind::reduce;
  return (one_buffer ? bytes : bytes * static_cast<size_t>(size)) <= bytes_max;
}

}  // namespace

CallCheck::CallCheck(GroupPeers& peers, const OperationQueue& queue, GroupStop& stop)
    : peers_(peers), queue_(queue), stop_(stop), exchange_(peers), agreement_(peers) {
}

bool CallCheck::begin_exchange() {
  const Operation& operation = queue_.front();
  const OperationRequest& request = operation.request;
  const bool small = is_small(request, peers_.size(), peers_.unasked_bytes_max());
  const auto order = small ? CallExchange::Order::with_data : CallExchange::Order::before_data;
  state_ = State::exchanging;
  return exchange_.begin(operation.sequence, call_hash(request, operation.sequence), order);
}

void CallCheck::run(Time now) {
  const Time end = deadline(queue_.front());
  late_ = now + (end == Time::max() ? late_after : std::min(late_after, (end - now) / 2));
  if (asked_ == queue_.first_sequence()) report(CallState::runs, now);
}

void CallCheck::run_agreed() {
  exchange_.begin_agreed(queue_.first_sequence());
  run_equal();
}

void CallCheck::agree_as(State state, CallState reported, Time now) {
  report(reported, now);
  state_ = state;
}

/// Sends rank 0 the descriptor of the first operation.
void CallCheck::report(CallState reported, Time now) {
  const Operation& operation = queue_.front();
  const Time end = deadline(operation);
  const bool limited = end != Time::max();
  if (state_ == State::exchanging) state_ = State::late;
  const Arrival arrival{
      .sequence = operation.sequence,
      .descriptor = Descriptor::of(operation.request),
      .timeout = limited ? operation.request.timeout : Duration::zero(),
      .remaining = limited ? std::max(end - now, Duration::zero()) : Duration::zero(),
      .state = reported};
  if (peers_.rank() > 0)
    return peers_.send(0, EngineMessageType::descriptor, arrival.sequence, encode(arrival));
  const Result<> added = agreement_.add(0, arrival, now);
  if (added) return;
  // A peer that is at another collective has broken the protocol.
  stop_.raise(operation.sequence, {added.error().code, -1, added.error().message});
}

std::optional<Verdict> CallCheck::decide() {
  const bool reported = state_ == State::late || awaits_verdict();
  return peers_.rank() == 0 && reported ? agreement_.decide() : std::nullopt;
}

void CallCheck::fail_unexplained() {
  stop_.raise(
      queue_.first_sequence(),
      {Errc::protocol, -1, "the hashes of the calls differ, but their descriptors are equal"});
}

void CallCheck::expire(Time now) {
  if (state_ == State::exchanging && now >= late_) report(CallState::runs, now);
  if (agreement_stopped()) return;
  agreement_.connect_missing(now);
  if (std::optional<CollectiveStop> stop = agreement_.lost()) stop_.raise(std::move(*stop));
  if (std::optional<CollectiveStop> stop = agreement_.overdue(now)) stop_.raise(std::move(*stop));
}

Time CallCheck::next_deadline() const {
  Time next = Time::max();
  if (!agreement_stopped()) next = std::min(agreement_.next_deadline(), agreement_.connects_at());
  return state_ == State::exchanging ? std::min(next, late_) : next;
}

/// True when the collective at which ranks arrive has been stopped, or when there is none.
bool CallCheck::agreement_stopped() const {
  return agreement_.empty() || stop_.includes(agreement_.sequence());
}

/// Answers rank 0, which asks how far this rank is in a collective.
void CallCheck::answer(uint64_t sequence, Time now) {
  const uint64_t first = queue_.first_sequence();
  if (sequence == first && state_ == State::exchanging) return report(CallState::runs, now);
  // It has sent its descriptor, or all have agreed.
  if (sequence == first && state_ != State::none) return;
  asked_ = sequence;
  const CallState state = sequence < first ? CallState::passed : CallState::absent;
  const Arrival arrival{.sequence = sequence, .descriptor = {}, .state = state};
  if (peers_.rank() > 0)
    return peers_.send(0, EngineMessageType::descriptor, sequence, encode(arrival));
  // The same from rank 0 to itself cannot fail.
  (void)agreement_.add(0, arrival, now);
}

/// Rank 0 knows that all ranks have made equal calls of that collective.
void CallCheck::all_equal(uint64_t sequence) {
  agreement_.settle(sequence);
  if (queue_.first_sequence() == sequence && runs()) state_ = State::equal;
}

// In the functions below, another rank may be done with the collective that this one still runs.
// Then it may be at the next one.

Result<bool> CallCheck::call(const Message& message, ByteSpan payload) {
  Reader reader(payload);
  const auto hash = reader.number<uint64_t>();
  TRY(reader.finish("call"));
  const int ahead = GroupPeers::distance(message.stream, queue_.first_sequence());
  const uint64_t sequence = queue_.first_sequence() + static_cast<uint64_t>(ahead);
  if (ahead < 0 || stop_.includes(sequence)) return true;
  if (ahead > 1) return fail(Errc::protocol, format("call of collective #{}", message.stream));
  return exchange_.note(peers_.rank_of(message.from), sequence, hash);
}

Result<> CallCheck::roll_call(const Message& message, Time now) {
  const int ahead = GroupPeers::distance(message.stream, queue_.first_sequence());
  const uint64_t sequence = queue_.first_sequence() + static_cast<uint64_t>(ahead);
  if (stop_.includes(sequence)) return {};
  if (ahead > 1 || message.from != peers_.job_rank(0))
    return fail(Errc::protocol, format("roll call of collective #{}", message.stream));
  answer(sequence, now);
  return {};
}

Result<> CallCheck::descriptor(const Message& message, ByteSpan payload, Time now) {
  Arrival arrival = TRY(decode_arrival(payload));
  const uint64_t sequence = arrival.sequence;
  if (stop_.includes(sequence)) return {};
  const uint64_t first = queue_.first_sequence();
  if (peers_.rank() != 0 || sequence > first + 1)
    return fail(Errc::protocol, format("descriptor of collective #{}", message.stream));
  const int rank = peers_.rank_of(message.from);
  const bool others_passed = !agreement_.empty() && sequence < agreement_.sequence();
  if (sequence < first || others_passed) {
    if (arrival.state != CallState::passed) agreement_.confirm(rank, sequence);
    return {};
  }
  if (sequence > first) all_equal(first);
  if (arrival.state == CallState::passed) {
    all_equal(sequence);
    return {};
  }
  TRY(agreement_.add(rank, std::move(arrival), now));
  if (agreement_.asks(sequence) && asked_ != sequence) answer(sequence, now);
  return {};
}

}  // namespace dt
