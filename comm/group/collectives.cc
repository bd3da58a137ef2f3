#include "comm/group/collectives.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/compression.h"
#include "comm/collective/uneven_parts.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

/// A collective over links that has not ended after this time, or after half of its limit, is late.
constexpr Duration late_after = milliseconds(100);

std::vector<MessageLink*> links_of(GroupPeers& peers) {
  std::vector<MessageLink*> links;
  links.reserve(static_cast<size_t>(peers.size()));
  for (int rank = 0; rank < peers.size(); ++rank)
    links.push_back(peers.link(rank));
  return links;
}

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

/// True when the steps over links let no rank end before all have begun. A program's own algorithm
/// promises this for no rooted collective.
bool awaits_all(const OperationRequest& request) {
  if (request.kind == OperationKind::barrier || has_own_counts(request.kind)) return true;
  return request.count > 0 && !(is_rooted(request.kind) && request.steps);
}

}  // namespace

Collectives::Collectives(GroupPeers peers, std::shared_ptr<SharedArea> area)
    : peers_(std::move(peers)),
      exchange_(peers_),
      scheduled_({peers_.rank(), peers_.size(), &peers_.hosts()}, links_of(peers_),
                 [this](int to) { return exchange_.may_send(to); }),
      agreement_(peers_) {
  if (area && peers_.hosts().hosts() == 1) {
    shared_ = std::make_unique<SharedCommunicator>(std::move(area), ranks_from_0(peers_.size()));
  } else if (peers_.has_host_memory() && peers_.hosts().is_nested()) {
    hosts_ = std::make_unique<HierarchicalCommunicator>(peers_, std::move(area), scheduled_,
                                                        [this] { permit_senders(); });
  }
}

void Collectives::submit(std::shared_ptr<Operation> operation) {
  operation->sequence = take_sequence();
  limits_.push(operation->sequence, deadline(*operation));
  queue_.push_back(std::move(operation));
}

bool Collectives::step(Time now) {
  const size_t before = queue_.size();
  report_late(now);
  expire(now);
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
  check_ = Check::done;
  leaver_blamed_at_ = Time::max();
  note_start(front());
  if (has_uneven_parts(front().request)) pad_input(front().request);
  if (front().request.terms) prepare_input(front().request, self());
  if (peers_.size() == 1 && !shared_) return play_agreed();
  if (!shared_) return begin_over_links(now);
  const Operation& operation = front();
  phase_ = Phase::running;
  communicator_ = shared_.get();
  communicator_->start(operation.request, operation.sequence,
                       {operation.request.timeout, deadline(operation)}, now);
}

void Collectives::begin_over_links(Time now) {
  const Operation& operation = front();
  const OperationRequest& request = operation.request;
  const uint64_t sequence = operation.sequence;
  const bool small = is_small(request, peers_.size(), peers_.unasked_bytes_max());
  const auto order = small ? CallExchange::Order::with_data : CallExchange::Order::before_data;
  check_ = Check::exchange;
  if (!exchange_.begin(sequence, call_hash(request, sequence), order)) return differ(now);
  // The phases of a broadcast on hosts have no tokens between the hosts.
  const bool on_hosts = hosts_ && is_rooted(request.kind) && hosts_->plays(request);
  if (on_hosts || !awaits_all(request)) return agree_first(CallState::waits, now);
  const Time end = deadline(operation);
  late_ = now + (end == Time::max() ? late_after : std::min(late_after, (end - now) / 2));
  permits_ = !small;
  start_over_links();
  if (asked_ == sequence) report(CallState::plays, now);
}

/// Starts the first operation, unless all ranks share memory.
void Collectives::start_over_links() {
  const Operation& operation = front();
  phase_ = Phase::running;
  if (hosts_ && hosts_->plays(operation.request)) {
    communicator_ = hosts_.get();
    return hosts_->start(operation.request, operation.sequence, {}, {});
  }
  communicator_ = &scheduled_;
  scheduled_.start(operation.request, peers_.stream(operation.sequence), {}, {});
  permit_senders();
}

/// Called when the first operation can receive large data.
void Collectives::permit_senders() {
  if (permits_) exchange_.permit(scheduled_.senders());
}

/// Begins the agreement.
void Collectives::agree_first(CallState state, Time now) {
  phase_ = Phase::agreeing;
  check_ = state == CallState::differs ? Check::differing : Check::round;
  report(state, now);
}

/// Sends rank 0 the descriptor of the first operation.
void Collectives::report(CallState state, Time now) {
  const Operation& operation = front();
  const Time end = deadline(operation);
  const bool limited = end != Time::max();
  if (check_ == Check::exchange) check_ = Check::round;
  const Arrival arrival{
      .sequence = operation.sequence,
      .descriptor = Descriptor::of(operation.request),
      .timeout = limited ? operation.request.timeout : Duration::zero(),
      .remaining = limited ? std::max(end - now, Duration::zero()) : Duration::zero(),
      .state = state};
  if (peers_.rank() > 0)
    return peers_.send(0, EngineMessageType::descriptor, arrival.sequence, encode(arrival));
  const Result<> added = agreement_.add(0, arrival, now);
  if (added) return;
  // A peer that is at another collective has broken the protocol.
  stop_from(
      {operation.sequence, {added.error().code, -1, added.error().message}, added.error().message});
}

/// Another rank's call of the first collective differs.
void Collectives::differ(Time now) {
  if (check_ == Check::differing || check_ == Check::done) return;
  if (phase_ == Phase::running) communicator_->cancel();
  scheduled_.drop_next(peers_.stream(front().sequence));
  agree_first(CallState::differs, now);
}

/// The calls of ranks that share memory differ. Returns true.
bool Collectives::differ_in_memory(Time now) {
  if (over_links() && check_ == Check::done) {
    fail_unexplained();
  } else if (over_links()) {
    differ(now);
  } else {
    communicator_->cancel();
    agree_first(CallState::waits, now);
  }
  return true;
}

void Collectives::fail_unexplained() {
  const std::string reason = "the hashes of the calls differ, but their descriptors are equal";
  stop_from({front().sequence, {Errc::protocol, -1, reason}, reason});
}

bool Collectives::report_late(Time now) {
  if (queue_.empty() || phase_ != Phase::running || check_ != Check::exchange || now < late_)
    return false;
  report(CallState::plays, now);
  return true;
}

/// Answers rank 0, which asks how far this rank is in a collective.
void Collectives::answer(uint64_t sequence, Time now) {
  const bool here = !queue_.empty() && sequence == front().sequence && phase_ != Phase::queued;
  if (here && phase_ == Phase::running && check_ == Check::exchange)
    return report(CallState::plays, now);
  if (here) return;  // it has sent its descriptor, or all have agreed
  asked_ = sequence;
  const CallState state = sequence < first_sequence() ? CallState::passed : CallState::absent;
  const Arrival arrival{.sequence = sequence, .descriptor = {}, .state = state};
  if (peers_.rank() > 0)
    return peers_.send(0, EngineMessageType::descriptor, sequence, encode(arrival));
  // The same from rank 0 to itself cannot fail.
  (void)agreement_.add(0, arrival, now);
}

/// Rank 0 knows that all ranks have made equal calls of that collective.
void Collectives::all_equal(uint64_t sequence) {
  agreement_.settle(sequence);
  if (!queue_.empty() && front().sequence == sequence && phase_ == Phase::running)
    check_ = Check::done;
}

/// Rank 0 decides when all have arrived. The other ranks only check that rank 0 is reachable: the
/// verdict arrives in verdict().
bool Collectives::agree() {
  if (peers_.rank() == 0) return decide();
  if (!peers_.gone(0)) return false;
  const std::string reason = peers_.gone_reason(0);
  stop_from({front().sequence, {Errc::peer_lost, peers_.job_rank(0), reason}, reason});
  return true;
}

/// Rank 0: true when all have arrived at the first collective.
bool Collectives::decide() {
  const std::optional<Verdict> verdict = agreement_.decide();
  if (verdict) apply(*verdict);
  return verdict.has_value();
}

void Collectives::apply(const Verdict& verdict) {
  if (verdict.equal() && (shared_ || check_ == Check::differing)) return fail_unexplained();
  check_ = Check::done;
  if (verdict.equal() && phase_ == Phase::running) return;
  if (verdict.equal()) return play_agreed();
  if (phase_ == Phase::running) communicator_->cancel();
  scheduled_.drop_next(peers_.stream(front().sequence));
  differed_ = true;
  // The text includes the label and is the same on every rank, although the calls' names may
  // differ. So end(), which would add this rank's label, is not used.
  end_labelled(front(), {Errc::mismatch, verdict.blamed_rank, verdict.mismatch});
  pop_front();
}

void Collectives::play_agreed() {
  exchange_.begin_agreed(front().sequence);
  permits_ = false;
  start_over_links();
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
  if (advance(now)) return true;
  if (peers_.rank() == 0 && check_ == Check::round && decide()) return true;
  return stop_without_needed(now);
}

/// Moves data of the running collective, and ends it when it is done.
bool Collectives::advance(Time now) {
  const bool moved = communicator_->step(now);
  switch (communicator_->state()) {
    case Communicator::State::done:
      agreement_.settle(front().sequence);
      if (front().request.terms) complete_result(front().request, self());
      succeed(front());
      pop_front();
      return true;
    case Communicator::State::agreed:
      play_agreed();
      return true;
    case Communicator::State::mismatch:
      return differ_in_memory(now);
    default:
      return moved;
  }
}

void Collectives::pop_front() {
  last_kind_ = called(front().request).kind;
  // Allocates nothing, unless it is the longest so far.
  if (!last_name_.empty() || !front().request.name.empty()) last_name_ = front().request.name;
  limits_.pop_to(front().sequence);
  queue_.pop_front();
  phase_ = Phase::queued;
}

void Collectives::fail_all(const OperationFailure& why) {
  communicator_->cancel();
  scheduled_.close();
  for (const std::shared_ptr<Operation>& operation : queue_)
    end(*operation, why);
  queue_.clear();
  limits_.clear();
  phase_ = Phase::queued;
}

bool Collectives::stopped(uint64_t sequence) const {
  return stop_ && sequence >= stop_->from;
}

/// True when the collective at which ranks arrive has been stopped, or when there is none.
bool Collectives::agreement_stopped() const {
  return agreement_.empty() || stopped(agreement_.sequence());
}

void Collectives::stop_from(CollectiveStop stop, Recipients recipients) {
  // Stops may arrive out of order. One with a smaller sequence replaces ours and is forwarded, too.
  if (stop_ && stop_->from <= stop.from) return;
  // The reasons are the same on all ranks, so they are cut here.
  stop.why.reason = stop.why.reason.substr(0, reason_bytes_max);
  stop.later = stop.later.substr(0, reason_bytes_max);
  peers_.send_all(EngineMessageType::stop, 0, encode(stop), recipients);
  stop_ = std::move(stop);
}

bool Collectives::apply_stop() {
  if (!stop_) return false;
  const CollectiveStop& stop = *stop_;
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
  if (ended) note_limits();
  return ended;
}

void Collectives::leave() {
  const std::string reason = peers_.name(peers_.rank()) + " has finalized the group";
  const uint64_t from = queue_.empty() ? submitted_ + 1 : front().sequence;
  stop_from({from, {Errc::peer_lost, peers_.job_rank(peers_.rank()), reason}, reason},
            Recipients::connected);
  fail_all({Errc::closed, -1, "the group has been finalized"});
}

void Collectives::stop_all(const OperationFailure& why) {
  stop_from({first_sequence(), why, why.reason});
}

/// The message with its sender's rank in the group.
Message Collectives::in_group(Message message) const {
  message.from = peers_.rank_of(message.from);
  return message;
}

/// The number of the first collective that is not done here.
uint64_t Collectives::first_sequence() const {
  return queue_.empty() ? submitted_ + 1 : front().sequence;
}

// In the functions below, another rank may be done with the collective that this one still runs.
// Then it may be at the next one.

Result<> Collectives::call(const Message& message, ByteSpan payload, Time now) {
  Reader reader(payload);
  const auto hash = reader.number<uint64_t>();
  TRY(reader.finish("call"));
  const int ahead = GroupPeers::distance(message.stream, first_sequence());
  const uint64_t sequence = first_sequence() + static_cast<uint64_t>(ahead);
  if (ahead < 0 || stopped(sequence)) return {};
  if (ahead > 1) return fail(Errc::protocol, format("call of collective #{}", message.stream));
  if (!exchange_.note(peers_.rank_of(message.from), sequence, hash)) differ(now);
  return {};
}

Result<> Collectives::roll_call(const Message& message, Time now) {
  const int ahead = GroupPeers::distance(message.stream, first_sequence());
  const uint64_t sequence = first_sequence() + static_cast<uint64_t>(ahead);
  if (stopped(sequence)) return {};
  if (ahead > 1 || message.from != peers_.job_rank(0))
    return fail(Errc::protocol, format("roll call of collective #{}", message.stream));
  answer(sequence, now);
  return {};
}

Result<> Collectives::descriptor(const Message& message, ByteSpan payload, Time now) {
  Arrival arrival = TRY(decode_arrival(payload));
  const uint64_t sequence = arrival.sequence;
  if (stopped(sequence)) return {};
  const uint64_t first = first_sequence();
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

Result<> Collectives::verdict(const Message& message, ByteSpan payload) {
  const Verdict verdict = TRY(decode_verdict(payload));
  TRY(peers_.check_blamed(verdict.blamed_rank));
  const int ahead = GroupPeers::distance(message.stream, first_sequence());
  const bool awaited = ahead == 0 && !queue_.empty() && phase_ != Phase::queued &&
                       (phase_ == Phase::agreeing || check_ != Check::done);
  if (!awaited && (stop_ || (verdict.equal() && ahead <= 0))) return {};
  if (!awaited || message.from != peers_.job_rank(0))
    return fail(Errc::protocol, format("verdict on collective #{}", message.stream));
  apply(verdict);
  return {};
}

Result<> Collectives::stop(ByteSpan payload) {
  CollectiveStop stop = TRY(decode_stop(payload));
  TRY(peers_.check_blamed(stop.why.blamed_rank));
  // The rank that has failed connects with all others itself.
  stop_from(std::move(stop), Recipients::connected);
  return {};
}

Result<PayloadTarget> Collectives::place(const Message& message, bool hold) {
  const int ahead = GroupPeers::distance(message.stream, first_sequence());
  if (ahead == 0 && !queue_.empty() && phase_ != Phase::queued) {
    if (check_ == Check::differing) return PayloadTarget{PayloadTarget::Action::discard};
    // Data that waits in a link would keep the answer of rank 0 behind it.
    if (phase_ == Phase::running && over_links())
      return scheduled_.place(in_group(message), hold || check_ == Check::round);
    // The sender knows before this rank that all calls are equal; the data waits in the link.
    return PayloadTarget{};
  }
  // Data of failed collectives still arrives.
  const bool failed = stopped(first_sequence() + static_cast<uint64_t>(ahead));
  if (failed || (ahead < 0 && (differed_ || stop_)))
    return PayloadTarget{PayloadTarget::Action::discard};
  if (ahead == 0 || ahead == 1) return scheduled_.place_next(in_group(message));
  return fail(Errc::protocol, format("data of collective #{}", message.stream));
}

}  // namespace dt
