#include "comm/engine/collectives.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

/// Other ranks wait this much longer than their timeout for the stop that names the missing ranks.
constexpr Duration verdict_grace = milliseconds(250);
/// Reasons are cut to this length: two of them fit into a control message.
constexpr size_t reason_bytes_max = 1500;

std::vector<MessageLink*> links_of(GroupPeers& peers) {
  std::vector<MessageLink*> links;
  links.reserve(static_cast<size_t>(peers.size()));
  for (int rank = 0; rank < peers.size(); ++rank)
    links.push_back(peers.link(rank));
  return links;
}

std::string cut(const std::string& text) {
  return text.substr(0, reason_bytes_max);
}

}  // namespace

Collectives::Collectives(GroupPeers peers, std::shared_ptr<SharedArea> shared)
    : peers_(std::move(peers)),
      scheduled_({peers_.rank(), peers_.size()}, links_of(peers_)),
      arrivals_(peers_.size()) {
  if (shared) {
    shared_ = std::make_unique<SharedCommunicator>(std::move(shared), ranks_from_0(peers_.size()));
  }
}

void Collectives::submit(std::shared_ptr<Operation> operation) {
  operation->sequence = take_sequence();
  queue_.push_back(std::move(operation));
}

bool Collectives::step(Time now) {
  const size_t before = queue_.size();
  expire(now);
  check_missing();
  bool moved = apply_stop();
  while (!queue_.empty() && step_front(now)) {
    moved = true;
    apply_stop();
  }
  return moved || queue_.size() != before;
}

bool Collectives::step_front(Time now) {
  switch (phase_) {
    case Phase::queued:
      begin(now);
      return true;
    case Phase::agreeing:
      return agree();
    case Phase::running:
      return run(now);
  }
  return false;
}

void Collectives::begin(Time now) {
  if (peers_.size() == 1 && !shared_) return play_scheduled();
  if (!shared_) return announce(now);
  const Operation& operation = front();
  phase_ = Phase::running;
  communicator_ = shared_.get();
  communicator_->start(operation.request, operation.sequence,
                       {operation.request.timeout, deadline(operation)}, now);
}

/// Begins the agreement.
void Collectives::announce(Time now) {
  const Operation& operation = front();
  const Time end = deadline(operation);
  const Arrival arrival{
      .sequence = operation.sequence,
      .descriptor = Descriptor::of(operation.request),
      .timeout = end == Time::max() ? Duration::zero() : operation.request.timeout,
      .remaining = end == Time::max() ? Duration::zero() : end - now};
  phase_ = Phase::agreeing;
  if (peers_.rank() == 0) {
    const Result<> added = arrivals_.add(0, arrival, now);
    // A peer that is at another collective has broken the protocol.
    if (!added) {
      stop_from({operation.sequence,
                 {added.error().code, -1, added.error().message},
                 added.error().message});
    }
  } else {
    peers_.send(0, EngineMessageType::descriptor, operation.sequence, encode(arrival));
  }
}

/// Rank 0 decides when all have arrived. The other ranks only check that rank 0 is reachable: the
/// verdict arrives in verdict().
bool Collectives::agree() {
  if (peers_.rank() == 0) {
    if (!arrivals_.complete()) return false;
    decide();
    return true;
  }
  if (!peers_.gone(0)) return false;
  const std::string reason = peers_.gone_reason(0);
  stop_from({front().sequence, {Errc::peer_lost, peers_.job_rank(0), reason}, reason});
  return true;
}

void Collectives::decide() {
  const uint64_t sequence = arrivals_.sequence();
  const std::optional<Mismatch> mismatch = compare(arrivals_.take(), peers_.job_ranks(), sequence);
  const OperationFailure failure{Errc::mismatch, mismatch ? mismatch->blamed_rank : -1,
                                 mismatch ? cut(mismatch->text) : ""};
  Writer writer;
  writer.number(int32_t{failure.blamed_rank}).text(failure.reason);
  peers_.send_all(EngineMessageType::verdict, sequence, writer.view());
  apply_verdict(mismatch ? &failure : nullptr);
}

void Collectives::apply_verdict(const OperationFailure* mismatch) {
  if (mismatch == nullptr && shared_) {
    const std::string reason = "the calls differ in shared memory, but their descriptors are equal";
    stop_from({front().sequence, {Errc::protocol, -1, reason}, reason});
    return;
  }
  if (mismatch == nullptr) return play_scheduled();
  // The text includes the label and is the same on every rank, although the calls' names may
  // differ. So end(), which would add this rank's label, is not used.
  Operation& operation = front();
  operation.blamed_rank = mismatch->blamed_rank;
  operation.outcome.emplace(fail(mismatch->code, mismatch->reason));
  pop_front();
}

void Collectives::play_scheduled() {
  phase_ = Phase::running;
  communicator_ = &scheduled_;
  scheduled_.start(front().request, peers_.stream(front().sequence), {}, {});
}

bool Collectives::runs_in_memory() const {
  if (!shared_ || stop_ || queue_.empty()) return false;
  return phase_ == Phase::queued || (phase_ == Phase::running && communicator_ == shared_.get());
}

bool Collectives::spin(Time now) {
  if (phase_ == Phase::queued) begin(now);
  return advance(now);
}

bool Collectives::run(Time now) {
  return advance(now) || stop_without_needed();
}

/// Moves data of the running collective, and ends it when it is done.
bool Collectives::advance(Time now) {
  const bool moved = communicator_->step(now);
  switch (communicator_->state()) {
    case Communicator::State::done:
      succeed(front());
      pop_front();
      return true;
    case Communicator::State::agreed:
      play_scheduled();
      return true;
    case Communicator::State::mismatch:
      communicator_->cancel();
      announce(now);
      return true;
    default:
      return moved;
  }
}

/// Stops the running collective when a rank that it needs is gone.
bool Collectives::stop_without_needed() {
  for (int rank = 0; rank < peers_.size(); ++rank) {
    if (!peers_.gone(rank) || !communicator_->needs(rank)) continue;
    const std::string reason = peers_.gone_reason(rank);
    stop_from({front().sequence, {Errc::peer_lost, peers_.job_rank(rank), reason}, reason});
    return true;
  }
  return false;
}

void Collectives::pop_front() {
  queue_.pop_front();
  phase_ = Phase::queued;
}

void Collectives::fail_all(const OperationFailure& why) {
  communicator_->cancel();
  for (const std::shared_ptr<Operation>& operation : queue_)
    end(*operation, why);
  queue_.clear();
  phase_ = Phase::queued;
}

Time Collectives::expires_at(const Operation& operation) const {
  const Time end = deadline(operation);
  const bool first = &operation == queue_.front().get();
  const bool agreeing = first && phase_ == Phase::agreeing;
  const bool comparing = first && phase_ == Phase::running && communicator_->any_missing();
  if (!agreeing && !comparing) return end;
  // One rank names the missing ranks, by the first time limit of all calls that it has seen: in an
  // agreement rank 0, by those in arrivals_.
  if (agreeing && peers_.rank() == 0) return Time::max();
  if (comparing && is_first_caller()) return communicator_->first_limit().end;
  return end == Time::max() ? end : end + verdict_grace;
}

/// True when no lower rank has made the call of the running collective, as far as this one knows.
bool Collectives::is_first_caller() const {
  for (int rank = 0; rank < peers_.rank(); ++rank)
    if (!communicator_->needs(rank)) return false;
  return true;
}

void Collectives::expire(Time now) {
  const ArrivalTable::Deadline next = arrivals_.next_deadline();
  if (next.time <= now && !stopped(arrivals_.sequence())) time_out_missing(next.rank);
  const auto late = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const auto& o) { return expires_at(*o) <= now; });
  if (late != queue_.end()) time_out(**late);
}

void Collectives::time_out(const Operation& operation) {
  std::string reason = "timed out after " + duration_text(operation.request.timeout);
  int blamed = -1;
  if (&operation != &front() || phase_ == Phase::queued) {
    reason += format(" on {} behind {}", peers_.name(peers_.rank()), label(front()));
  } else if (phase_ == Phase::agreeing) {
    blamed = peers_.job_rank(0);
    reason += format(": {} has not answered", peers_.name(0));
  } else if (communicator_->any_missing()) {
    const std::vector<int> missing = communicator_->missing();
    blamed = peers_.job_rank(missing.front());
    reason = missing_text(communicator_->first_limit().timeout, missing);
  } else {
    const int awaited = communicator_->waits_for();
    reason += " on " + peers_.name(peers_.rank());
    if (awaited >= 0) reason += ", waiting for " + peers_.name(awaited);
    if (awaited >= 0) blamed = peers_.job_rank(awaited);
  }
  stop_from({operation.sequence,
             {Errc::timeout, blamed, reason},
             format("not possible after {} timed out", label(operation))});
}

/// The timeout of `rank` has ended before all ranks arrived: stops, and names the missing ranks.
void Collectives::time_out_missing(int rank) {
  const std::vector<int> missing = arrivals_.missing();
  if (missing.empty()) return;
  const Arrival& arrival = arrivals_.of(rank);
  const Descriptor& descriptor = arrival.descriptor;
  stop_from(
      {arrivals_.sequence(),
       {Errc::timeout, peers_.job_rank(missing.front()), missing_text(arrival.timeout, missing)},
       format("not possible after {} timed out",
              collective_label(descriptor.kind, arrivals_.sequence(), descriptor.name))});
}

std::string Collectives::missing_text(Duration timeout, const std::vector<int>& missing) const {
  const bool one = missing.size() == 1;
  std::vector<int> ranks;
  for (const int rank : missing)
    ranks.push_back(peers_.job_rank(rank));
  return format("timed out after {}: {} {} not arrived", duration_text(timeout),
                one ? peers_.name(missing.front()) : ranks_text(ranks), one ? "has" : "have");
}

/// Rank 0: stops the collective as soon as a missing rank is gone, also before rank 0's own call.
void Collectives::check_missing() {
  if (stopped(arrivals_.sequence()) || arrivals_.empty() || arrivals_.complete()) return;
  for (int rank = 1; rank < peers_.size(); ++rank) {
    if (arrivals_.arrived(rank) || !peers_.gone(rank)) continue;
    const std::string reason = peers_.gone_reason(rank);
    stop_from({arrivals_.sequence(), {Errc::peer_lost, peers_.job_rank(rank), reason}, reason});
    return;
  }
}

bool Collectives::stopped(uint64_t sequence) const {
  return stop_ && sequence >= stop_->from;
}

void Collectives::stop_from(Stop stop) {
  // Stops may arrive out of order. One with a smaller sequence replaces ours and is forwarded, too.
  if (stop_ && stop_->from <= stop.from) return;
  stop.why.reason = cut(stop.why.reason);
  stop.later = cut(stop.later);
  Writer writer;
  writer.number(stop.from).number(stop.why.code).number(int32_t{stop.why.blamed_rank});
  writer.text(stop.why.reason).text(stop.later);
  peers_.send_all(EngineMessageType::stop, 0, writer.view());
  stop_ = std::move(stop);
}

bool Collectives::apply_stop() {
  if (!stop_) return false;
  const Stop& stop = *stop_;
  bool ended = false;
  while (!queue_.empty() && queue_.back()->sequence >= stop.from) {
    if (queue_.size() == 1) {
      communicator_->cancel();
      phase_ = Phase::queued;
    }
    Operation& last = *queue_.back();
    const bool first = last.sequence == stop.from;
    end(last, first ? stop.why : OperationFailure{stop.why.code, stop.why.blamed_rank, stop.later});
    queue_.pop_back();
    ended = true;
  }
  return ended;
}

void Collectives::leave() {
  const std::string reason = peers_.name(peers_.rank()) + " has finalized the group";
  const uint64_t from = queue_.empty() ? submitted_ + 1 : front().sequence;
  stop_from({from, {Errc::peer_lost, peers_.job_rank(peers_.rank()), reason}, reason});
  fail_all({Errc::closed, -1, "the group has been finalized"});
}

/// The message with its sender's rank in the group.
Message Collectives::in_group(Message message) const {
  message.from = peers_.rank_of(message.from);
  return message;
}

Result<> Collectives::descriptor(const Message& message, ByteSpan payload, Time now) {
  Arrival arrival = TRY(decode_arrival(payload));
  if (stopped(arrival.sequence)) return {};
  // Another rank may be done with the collective that this one still runs, and be at the next one.
  const uint64_t first = queue_.empty() ? submitted_ + 1 : front().sequence;
  const bool expected = arrival.sequence == first || arrival.sequence == first + 1;
  if (peers_.rank() != 0 || !expected)
    return fail(Errc::protocol, format("descriptor of collective #{}", message.stream));
  return arrivals_.add(peers_.rank_of(message.from), std::move(arrival), now);
}

Result<> Collectives::verdict(const Message& message, ByteSpan payload) {
  Reader reader(payload);
  OperationFailure mismatch{Errc::mismatch, reader.number<int32_t>(), reader.text()};
  TRY(reader.finish("verdict"));
  TRY(peers_.check_blamed(mismatch.blamed_rank));
  const bool awaited = !queue_.empty() && phase_ == Phase::agreeing &&
                       message.stream == peers_.stream(front().sequence);
  if (!awaited && stop_) return {};
  if (!awaited || message.from != peers_.job_rank(0))
    return fail(Errc::protocol, format("verdict on collective #{}", message.stream));
  apply_verdict(mismatch.reason.empty() ? nullptr : &mismatch);
  return {};
}

Result<> Collectives::stop(ByteSpan payload) {
  Reader reader(payload);
  Stop stop;
  stop.from = reader.number<uint64_t>();
  stop.why.code = reader.number<Errc>();
  stop.why.blamed_rank = reader.number<int32_t>();
  stop.why.reason = reader.text();
  stop.later = reader.text();
  TRY(reader.finish("stop"));
  TRY(peers_.check_blamed(stop.why.blamed_rank));
  if (stop.why.code < Errc::input || stop.why.code > Errc::not_runnable)
    return fail(Errc::protocol, "stop of no known kind");
  stop_from(std::move(stop));
  return {};
}

Result<PayloadTarget> Collectives::place(const Message& message, bool hold) {
  if (!queue_.empty() && message.stream == peers_.stream(front().sequence)) {
    if (phase_ == Phase::running && communicator_ == &scheduled_)
      return scheduled_.place(in_group(message), hold);
    // The sender knows before this rank that all calls are equal; the data waits in the link.
    if (phase_ != Phase::queued) return PayloadTarget{};
  }
  // After a stop, data of failed collectives still arrives.
  if (stop_) return PayloadTarget{PayloadTarget::Action::discard};
  return fail(Errc::protocol, format("data of collective #{}", message.stream));
}

Time Collectives::next_deadline() const {
  Time next = stopped(arrivals_.sequence()) ? Time::max() : arrivals_.next_deadline().time;
  for (const std::shared_ptr<Operation>& operation : queue_)
    next = std::min(next, expires_at(*operation));
  return next;
}

}  // namespace dt
