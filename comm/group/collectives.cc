#include "comm/group/collectives.h"

#include "base/format.h"
#include "comm/collective/compression.h"
#include "comm/collective/uneven_parts.h"

#include <optional>

namespace dt {

namespace {

/// True when the steps over links let no rank end before all have begun. A program's own algorithm
/// promises this for no rooted collective.
bool awaits_all(const OperationRequest& request) {
  if (request.kind == OperationKind::barrier || has_own_counts(request.kind)) return true;
  return request.count > 0 && !(is_rooted(request.kind) && request.steps);
}

}  // namespace

Collectives::Collectives(GroupPeers peers, std::shared_ptr<SharedArea> area)
    : peers_(std::move(peers)),
      stop_(peers_),
      check_(peers_, queue_, stop_),
      communicators_(
          peers_, std::move(area), [this](int to) { return check_.may_send(to); },
          [this] {
            // Their list takes memory.
            if (check_.needs_permits()) check_.permit(communicators_.links().senders());
          }),
      watchdog_({peers_, queue_, check_, communicators_, stop_}) {
}

bool Collectives::step(Time now) {
  const size_t before = queue_.size();
  check_.expire(now);
  watchdog_.expire(now);
  bool moved = apply_stop();
  while (!queue_.empty() && step_front(now)) {
    moved = true;
    apply_stop();
  }
  return moved || queue_.size() != before;
}

bool Collectives::step_front(Time now) {
  if (check_.state() == CallCheck::State::none) {
    begin(now);
    return true;
  }
  if (check_.runs() && advance(now)) return true;
  return decide() || watchdog_.stop_without_needed(now);
}

void Collectives::begin(Time now) {
  Operation& operation = queue_.front();
  watchdog_.begin();
  note_start(operation);
  if (has_uneven_parts(operation.request)) pad_input(operation.request);
  if (operation.request.terms) prepare_input(operation.request, {peers_.rank(), peers_.size()});
  const bool in_memory = communicators_.share_memory();
  if (peers_.size() == 1 && !in_memory) return run_agreed();
  if (!in_memory) return begin_over_links(now);
  check_.run_equal();
  communicators_.start_in_memory(operation, now);
}

void Collectives::begin_over_links(Time now) {
  const OperationRequest& request = queue_.front().request;
  if (!check_.begin_exchange()) return differ(now);
  // The phases of a broadcast on hosts have no tokens between the hosts.
  const bool on_hosts = is_rooted(request.kind) && communicators_.run_on_hosts(request);
  if (on_hosts || !awaits_all(request)) return check_.agree(now);
  communicators_.start_over_links(queue_.front());
  check_.run(now);
}

void Collectives::run_agreed() {
  check_.run_agreed();
  communicators_.start_over_links(queue_.front());
}

/// Another rank's call of the first collective differs.
void Collectives::differ(Time now) {
  if (!check_.is_open() || check_.state() == CallCheck::State::differing) return;
  cancel();
  check_.differ(now);
}

/// The calls of ranks that share memory differ.
void Collectives::differ_in_memory(Time now) {
  if (!communicators_.uses_links()) {
    communicators_.current().cancel();
    check_.agree(now);
  } else if (check_.is_open()) {
    differ(now);
  } else {
    check_.fail_unexplained();
  }
}

/// Ends the first collective, whose calls differ, in the communicators.
void Collectives::cancel() {
  if (check_.runs()) communicators_.current().cancel();
  communicators_.links().drop_next(peers_.stream(queue_.first_sequence()));
}

/// Rank 0 decides when all have arrived at the first collective. The verdict arrives at the others
/// in verdict().
bool Collectives::decide() {
  const std::optional<Verdict> verdict = check_.decide();
  if (verdict) apply(*verdict);
  return verdict.has_value();
}

void Collectives::apply(const Verdict& verdict) {
  const bool differs = check_.state() == CallCheck::State::differing;
  if (verdict.equal() && (communicators_.share_memory() || differs))
    return check_.fail_unexplained();
  if (verdict.equal() && check_.runs()) return check_.run_equal();
  if (verdict.equal()) return run_agreed();
  cancel();
  differed_ = true;
  // The text includes the label and is the same on every rank, although the calls' names may
  // differ. So end(), which would add this rank's label, is not used.
  end_labelled(queue_.front(), {Errc::mismatch, verdict.blamed_rank, verdict.mismatch});
  queue_.pop_front();
  check_.reset();
}

bool Collectives::runs_in_memory() const {
  if (!has_memory() || stop_.known() != nullptr || queue_.empty()) return false;
  const bool begun = check_.state() != CallCheck::State::none;
  return !begun || (check_.runs() && !communicators_.uses_links());
}

bool Collectives::spin(Time now) {
  if (check_.state() == CallCheck::State::none) begin(now);
  return advance(now);
}

/// Moves data of the running collective, and ends it when it is done.
bool Collectives::advance(Time now) {
  Communicator& running = communicators_.current();
  const bool moved = running.step(now);
  switch (running.state()) {
    case Communicator::State::done:
      check_.settle();
      if (queue_.front().request.terms)
        complete_result(queue_.front().request, {peers_.rank(), peers_.size()});
      succeed(queue_.front());
      queue_.pop_front();
      check_.reset();
      return true;
    case Communicator::State::agreed:
      run_agreed();
      return true;
    case Communicator::State::mismatch:
      differ_in_memory(now);
      return true;
    default:
      return moved;
  }
}

void Collectives::fail_all(const OperationFailure& why) {
  communicators_.current().cancel();
  communicators_.links().close();
  queue_.end_all(why);
  check_.reset();
}

bool Collectives::apply_stop() {
  const CollectiveStop* stop = stop_.known();
  if (stop == nullptr || !queue_.is_stopped_by(*stop)) return false;
  if (stop_.includes(queue_.first_sequence())) {
    communicators_.current().cancel();
    check_.reset();
  }
  queue_.end_from(*stop);
  return true;
}

void Collectives::leave() {
  const std::string reason = peers_.name(peers_.rank()) + " has finalized the group";
  stop_.raise(queue_.first_sequence(), {Errc::peer_lost, peers_.job_rank(peers_.rank()), reason},
              Recipients::connected);
  fail_all({Errc::closed, -1, "the group has been finalized"});
}

Message Collectives::in_group(Message message) const {
  message.from = peers_.rank_of(message.from);
  return message;
}

Result<> Collectives::call(const Message& message, ByteSpan payload, Time now) {
  const bool equal = TRY(check_.call(message, payload));
  if (!equal) differ(now);
  return {};
}

Result<> Collectives::verdict(const Message& message, ByteSpan payload) {
  const Verdict verdict = TRY(decode_verdict(payload));
  TRY(peers_.check_blamed(verdict.blamed_rank));
  const int ahead = GroupPeers::distance(message.stream, queue_.first_sequence());
  const bool awaited = ahead == 0 && check_.is_open();
  // This rank may be done with the collective that another one still runs.
  if (!awaited && (stop_.known() != nullptr || (verdict.equal() && ahead <= 0))) return {};
  if (!awaited || message.from != peers_.job_rank(0))
    return fail(Errc::protocol, format("verdict on collective #{}", message.stream));
  apply(verdict);
  return {};
}

Result<> Collectives::stop(ByteSpan payload) {
  CollectiveStop stop = TRY(decode_stop(payload));
  TRY(peers_.check_blamed(stop.why.blamed_rank));
  // The rank that has failed connects with all others itself.
  stop_.raise(std::move(stop), Recipients::connected);
  return {};
}

Result<PayloadTarget> Collectives::place(const Message& message, bool hold) {
  const uint64_t first = queue_.first_sequence();
  const int ahead = GroupPeers::distance(message.stream, first);
  const CallCheck::State check = check_.state();
  if (ahead == 0 && check != CallCheck::State::none) {
    if (check == CallCheck::State::differing) return PayloadTarget{PayloadTarget::Action::discard};
    // Data that waits in a link would keep the answer of rank 0 behind it.
    const bool held = hold || check == CallCheck::State::late;
    if (check_.runs() && communicators_.uses_links())
      return communicators_.links().place(in_group(message), held);
    // The sender knows before this rank that all calls are equal; the data waits in the link.
    return PayloadTarget{};
  }
  // Data of failed collectives still arrives.
  const bool failed = stop_.includes(first + static_cast<uint64_t>(ahead));
  if (failed || (ahead < 0 && (differed_ || stop_.known() != nullptr)))
    return PayloadTarget{PayloadTarget::Action::discard};
  if (ahead == 0 || ahead == 1) return communicators_.links().place_next(in_group(message));
  return fail(Errc::protocol, format("data of collective #{}", message.stream));
}

void Collectives::add_wait(std::vector<PendingWait>& waits) const {
  if (queue_.empty()) return;
  // Both parts of the number change: one with the phase, the other with the data.
  constexpr int phase_bit = 60;
  const bool runs = check_.runs();
  const uint64_t phase = runs ? 2 : check_.awaits_verdict() ? 1 : 0;
  const uint64_t data = runs ? communicators_.current().progress() : 0;
  waits.push_back({&queue_.front(), (phase << phase_bit) ^ data});
}

std::vector<int> Collectives::awaited() const {
  std::vector<int> ranks = watchdog_.awaited();
  for (int& rank : ranks)
    rank = peers_.job_rank(rank);
  return ranks;
}

int Collectives::data_from() const {
  if (!check_.runs() || !communicators_.uses_links()) return -1;
  const int rank = communicators_.links().waits_for();
  return rank < 0 ? -1 : peers_.job_rank(rank);
}

}  // namespace dt
