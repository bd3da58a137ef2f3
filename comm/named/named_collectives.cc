#include "comm/named/named_collectives.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/named/join.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// A rank waits this much longer than its time limit for rank 0, which names the missing ranks.
constexpr Duration decision_grace = milliseconds(250);
/// Most ranks connect with rank 0 themselves in that time.
constexpr Duration connect_after = milliseconds(100);

/// True when one all_reduce can run the calls of a bucket, within the memory for it.
bool can_be_one(const std::vector<std::shared_ptr<Operation>>& calls) {
  if (calls.size() == 1) return true;
  const OperationRequest& first = calls.front()->request;
  const auto compression = [](const OperationRequest& request) {
    return request.terms ? request.terms->compression : Compression::none;
  };
  size_t bytes = 0;
  for (const auto& call : calls) {
    const OperationRequest& request = call->request;
    if (request.kind != OperationKind::all_reduce || request.type != first.type ||
        request.reduce != first.reduce || compression(request) != compression(first))
      return false;
    bytes += bytes_of(request);
  }
  return bytes <= bucket_bytes_max;
}

/// Returns why a bucket has failed. The reason stands behind its label, which no user knows.
OperationFailure reason_without_label(const Operation& whole) {
  const std::string& text = whole.outcome->error().message;
  const size_t label_bytes = label(whole).size() + 2;
  return {whole.outcome->error().code, whole.blamed_rank,
          text.substr(std::min(label_bytes, text.size()))};
}

}  // namespace

NamedCollectives::NamedCollectives(GroupPeers lane, Prepare prepare,
                                   std::shared_ptr<SharedArea> memory)
    : peers_(std::move(lane)),
      lane_(peers_, std::move(memory)),
      prepare_(std::move(prepare)),
      coordinator_({.job_ranks = peers_.job_ranks(),
                    .name_of_rank = [this](int rank) { return peers_.name(rank); }}) {
}

void NamedCollectives::submit(std::shared_ptr<Operation> operation) {
  const bool quorum = operation->request.terms && operation->request.terms->quorum.ranks > 0;
  serves_ = serves_ || quorum;
  if (quorum && deliver_late(operation)) return;
  if (failed_) return end(*operation, *failed_);
  const CallAgreement* const agreement = operation->request.agreement.get();
  const bool agreed = (agreement && agreement->of_unnamed) || operation->request.follows_agreement;
  if (has_joined() && !agreed) {
    return end(*operation, {Errc::input, -1,
                            "this rank has joined; it can make named calls when all ranks have"});
  }
  if (is_pending(operation->request.name))
    return end(*operation, {Errc::input, -1, std::string(name_is_pending)});
  calls_.add(std::move(operation));
}

bool NamedCollectives::step(Time now) {
  if (failed_) {
    const bool moved = run(now) || fail_undecided();
    // The last message of a bucket before the stop may be lost on a silent link.
    if (!turns_.empty()) stop_late(now);
    return moved;
  }
  bool moved = announce(now);
  coordinator_.decide_quorums(now);
  moved |= decide(now);
  moved |= run(now);
  stop_overdue(now);
  stop_without_lost(now);
  if (const CollectiveStop* stop = lane_.stopped()) {
    failed_ = stop->why;
    calls_.drop_unannounced();
    moved = true;
  }
  return moved;
}

/// Fails the calls that will not be run. Ranks run all buckets that come before a stop, so this
/// one waits for the decisions about those.
bool NamedCollectives::fail_undecided() {
  if (calls_.undecided().empty() || awaits_decisions()) return false;
  while (!calls_.undecided().empty())
    end(*calls_.take(calls_.undecided().begin()->first), *failed_);
  return true;
}

bool NamedCollectives::awaits_decisions() const {
  const CollectiveStop* stop = lane_.stopped();
  return stop != nullptr && buckets_ + 1 < stop->from && !peers_.gone(0);
}

/// Sends rank 0 the calls that are new.
bool NamedCollectives::announce(Time now) {
  std::vector<NameArrival> arrivals = calls_.take_unannounced(now);
  if (arrivals.empty()) return false;
  if (peers_.rank() == 0) {
    for (NameArrival& arrival : arrivals)
      // A rank's own calls are announced once.
      (void)coordinator_.add(0, std::move(arrival), now);
    connects_at_ = std::min(connects_at_, now + connect_after);
    return true;
  }
  for (size_t from = 0; from < arrivals.size();)
    peers_.send(0, EngineMessageType::name_call, 0, encode_arrivals(arrivals, from));
  return true;
}

Result<> NamedCollectives::announcement(const Message& message, ByteSpan payload, Time now) {
  const int rank = peers_.rank_of(message.from);
  if (peers_.rank() != 0) return fail(Errc::protocol, "a named call for another rank");
  if (failed_) return {};
  for (NameArrival& arrival : TRY(decode_arrivals(payload)))
    TRY(coordinator_.add(rank, std::move(arrival), now));
  connects_at_ = std::min(connects_at_, now + connect_after);
  return {};
}

/// Rank 0: sends its decisions to all, and applies them.
bool NamedCollectives::decide(Time now) {
  if (peers_.rank() != 0) return false;
  std::vector<NameDecision> decisions = coordinator_.decide();
  if (turns_.empty())
    for (NameDecision& deadlock : coordinator_.deadlock(now))
      decisions.push_back(std::move(deadlock));
  for (const NameDecision& decision : decisions) {
    const Bytes message = encode(decision);
    for (int rank = 1; rank < peers_.size(); ++rank)
      peers_.send(rank, EngineMessageType::name_decision, 0, message);
    // Rank 0 has announced what it decides about.
    (void)apply(decision);
  }
  return !decisions.empty();
}

Result<> NamedCollectives::decision(const Message& message, ByteSpan payload) {
  if (peers_.rank_of(message.from) != 0)
    return fail(Errc::protocol, "a decision from another rank than 0");
  const NameDecision decision = TRY(decode_name_decision(payload));
  if (decision.failure) TRY(peers_.check_blamed(decision.failure->blamed_rank));
  if (!decision.participants.empty() &&
      decision.participants.size() != static_cast<size_t>(peers_.size()))
    return fail(Errc::protocol, "a decision with other ranks than those of the group");
  if (failed_ && !awaits_decisions()) return {};
  return apply(decision);
}

Result<> NamedCollectives::apply(const NameDecision& decision) {
  if (decision.last_joined >= 0) return end_join_behind_calls(decision.last_joined);
  if (decision.route) return agree(decision);
  if (!decision.failure) return queue(decision);
  const OperationFailure& why = *decision.failure;
  for (const uint64_t name : decision.names) {
    if (!calls_.is_undecided(name)) {
      // This rank has not made the call.
      if (!decision.includes(peers_.rank()))
        late_.keep({.name = name,
                    .participants = decision.included(peers_.size()),
                    .failure = decision.failure});
      continue;
    }
    const Work work = calls_.take(name);
    // The text of a mismatch includes the label.
    if (why.code == Errc::mismatch) end_labelled(*work, why);
    if (why.code == Errc::timeout) end(*work, why);
  }
  return {};
}

/// Queues the calls for their turn. Where memory runs out, each operation is still undecided or in
/// turns_, so fail_all() ends it.
Result<> NamedCollectives::queue(const NameDecision& decision) {
  Turn turn{.participants = decision.included(peers_.size())};
  std::vector<Work> members;
  std::vector<LateCall> late;
  for (const uint64_t name : decision.names) {
    const Work own = calls_.undecided(name);
    const bool contributes = own && decision.includes(peers_.rank());
    members.push_back(contributes ? own : stand_in(decision, name, late));
    if (!members.back()) return fail(Errc::protocol, "a decision about a name that is not pending");
    if (own) calls_.decide(name);
    OperationRequest& request = members.back()->request;
    if (request.agreement) return fail(Errc::protocol, "a call without data is to be run");
    if (auto sum = contributes ? late_.add_carried(request) : nullptr)
      turn.carried.push_back(std::move(sum));
  }
  turn.bucket = Bucket(members, decision.average_over);
  for (LateCall& call : late)
    late_.run(std::move(call));
  turns_.push_back(std::move(turn));
  ++buckets_;
  for (const uint64_t name : decision.names)
    calls_.forget_undecided(name);
  return {};
}

/// Returns the call that this rank makes without its own contribution: it is late, or has joined.
/// Returns null where neither is possible. Appends a late call to `late`.
NamedCollectives::Work NamedCollectives::stand_in(const NameDecision& decision, uint64_t name,
                                                  std::vector<LateCall>& late) const {
  const auto call = std::ranges::find(decision.for_joined, name, &Descriptor::name_hash);
  const bool joined = calls_.is_undecided(join_hash());
  if (call == decision.for_joined.end() || (!joined && decision.includes(peers_.rank())))
    return nullptr;
  Work stand_in = joined_call(*call, peers_.size());
  if (!joined)
    late.push_back({.name = name,
                    .stand_in = stand_in,
                    .call = *call,
                    .participants = decision.included(peers_.size()),
                    .user = calls_.undecided(name)});
  return stand_in;
}

/// Returns true if the call was decided without this rank. It then ends with the result of the
/// others, and rank 0 learns that this rank has made it.
bool NamedCollectives::deliver_late(const Work& operation) {
  // An operation that has ended has no list any more.
  NameArrival arrival{.descriptor = Descriptor::of(operation->request),
                      .part_of = ListPart::of(*operation)};
  const LateSteps::Claim claim = late_.claim(operation, peers_);
  if (claim == LateSteps::Claim::none) return false;
  if (claim == LateSteps::Claim::running) calls_.add_late(operation);
  if (!failed_) calls_.announce_late(std::move(arrival));
  return true;
}

/// Ends calls that move no data.
Result<> NamedCollectives::agree(const NameDecision& decision) {
  const bool by_nccl = *decision.route == DeviceRoute::nccl;
  std::vector<Work> calls;
  for (const uint64_t name : decision.names) {
    Work call = calls_.undecided(name);
    if (!call && has_joined() && !by_nccl) continue;
    if (!call || !call->request.agreement)
      return fail(Errc::protocol, "an agreement on a name that is not pending");
    calls.push_back(std::move(call));
  }
  if (by_nccl && !can_be_one(calls))
    return fail(Errc::protocol, "a bucket of calls that differ, or are too large");
  NcclSlot slot{.bucket = nccl_buckets_, .members = static_cast<uint32_t>(calls.size())};
  if (by_nccl) ++nccl_buckets_;
  for (const Work& call : calls) {
    const uint64_t name = hash_of_name(call->request.name);
    if (!calls_.is_undecided(name)) return fail(Errc::protocol, "two agreements on one name");
    const Work work = calls_.take(name);
    CallAgreement& agreement = *work->request.agreement;
    agreement.route = *decision.route;
    agreement.slots.resize(std::max(agreement.slots.size(), work->part + 1));
    agreement.slots[work->part] = slot;
    ++slot.index;
    last_label_ = label(*work);
    note_start(*work);
    succeed(*work);
  }
  return {};
}

/// The program may finalize when its join ends. So this rank first runs the calls of the others,
/// and the join keeps its time limit.
Result<> NamedCollectives::end_join_behind_calls(int last) {
  if (!calls_.is_undecided(join_hash()) || last >= peers_.size())
    return fail(Errc::protocol, "a decision about a join that is not pending");
  if (turns_.empty()) {
    end_join(*calls_.take(join_hash()), last);
    return {};
  }
  turns_.back().join = calls_.undecided(join_hash());
  turns_.back().last_joined = last;
  calls_.forget_undecided(join_hash());
  return {};
}

/// Ends the join behind a bucket that has ended.
void NamedCollectives::finish_join(const Turn& turn) {
  calls_.end(*turn.join);
  if (*turn.operation->outcome) return end_join(*turn.join, turn.last_joined);
  end(*turn.join, reason_without_label(*turn.operation));
}

bool NamedCollectives::has_joined() const {
  return calls_.is_undecided(join_hash()) ||
         std::ranges::any_of(turns_, [](const Turn& turn) { return turn.join != nullptr; });
}

/// Runs the buckets one after the other.
bool NamedCollectives::run(Time now) {
  bool moved = lane_.step(now);
  while (!turns_.empty()) {
    Turn& first = turns_.front();
    if (!first.operation) {
      start(first, now);
      if (const Result<> chosen = prepare_(peers_, first.operation->request); !chosen) {
        // Other ranks may run this bucket, and this one cannot: no rank may run a later one.
        lane_.stop_all({chosen.error().code, -1, chosen.error().message});
        return true;
      }
      lane_.submit(first.operation);
      lane_.step(now);
      moved = true;
    }
    if (!first.operation->outcome) return moved;
    finish(first);
    if (first.join) finish_join(first);
    turns_.pop_front();
    fused_.trim();
    moved = true;
  }
  return moved;
}

/// The operation of a whole bucket has the time limit that ends first.
void NamedCollectives::start(Turn& turn, Time now) {
  turn.operation = std::make_shared<Operation>();
  Operation& whole = *turn.operation;
  whole.request = turn.bucket.request(peers_.number(), fused_);
  whole.submitted = now;
  Time end = Time::max();
  for (const Work& work : turn.bucket.members()) {
    note_start(*work);
    if (deadline(*work) >= end) continue;
    end = deadline(*work);
    whole.submitted = work->submitted;
    whole.request.timeout = work->request.timeout;
  }
}

void NamedCollectives::finish(Turn& turn) {
  const Operation& whole = *turn.operation;
  last_label_ = label(*turn.bucket.members().back());
  if (*whole.outcome) turn.bucket.distribute({peers_.rank(), peers_.size()});
  for (const Work& work : turn.bucket.members()) {
    calls_.end(*work);
    if (!*whole.outcome) {
      end(*work, reason_without_label(whole));
      continue;
    }
    if (work->request.terms && work->request.terms->quorum.ranks > 0) {
      note_participants(*work, turn.participants);
      late_.note_end(*work, false);
    }
    succeed(*work);
  }
  // The results of calls that this rank has not made yet wait for these.
  for (const Work& work : turn.bucket.members()) {
    std::optional<LateCall> late = late_.end(*work);
    if (!late) continue;
    calls_.end(*late->user);
    late_.deliver(*std::move(late), peers_);
  }
}

/// Fails all named operations of the group when a time limit has ended.
void NamedCollectives::stop_overdue(Time now) {
  if (const auto overdue = coordinator_.overdue(now)) {
    const std::string text = missing_text(peers_, overdue->timeout, overdue->missing);
    const NameDecision decision{
        .names = {overdue->descriptor.name_hash},
        .failure =
            OperationFailure{Errc::timeout, peers_.job_rank(overdue->missing.front()), text}};
    for (int rank = 1; rank < peers_.size(); ++rank)
      peers_.send(rank, EngineMessageType::name_decision, 0, encode(decision));
    (void)apply(decision);
    const std::string label =
        collective_label(overdue->descriptor.kind, 0, overdue->descriptor.name);
    return lane_.stop_all({Errc::timeout, decision.failure->blamed_rank,
                           format("not possible after {} timed out", label)});
  }
  stop_late(now);
}

/// Fails all named operations when this rank's own limit has ended, and nobody has said why.
void NamedCollectives::stop_late(Time now) {
  // The lane has the time limits of the bucket that it runs, and ends it sooner.
  if (limit_with_grace() > now) return;
  const Operation& late = calls_.next_late();
  const std::string after = "timed out after " + duration_text(late.request.timeout);
  if (calls_.is_undecided(hash_of_name(late.request.name))) {
    const std::string reason = format("{}: {} has not answered", after, peers_.name(0));
    return lane_.stop_all({Errc::timeout, peers_.job_rank(0), reason});
  }
  const std::string front = label(*turns_.front().bucket.members().front());
  const std::string reason = format("{} on {} behind {}", after, peers_.name(peers_.rank()), front);
  lane_.stop_all({Errc::timeout, -1, reason});
}

Time NamedCollectives::limit_with_grace() const {
  const Time limit = calls_.next_limit();
  return limit == Time::max() ? limit : limit + decision_grace;
}

Time NamedCollectives::next_deadline() const {
  if (failed_ && turns_.empty()) return lane_.next_deadline();
  const Time next = std::min(lane_.next_deadline(), limit_with_grace());
  return failed_ ? next : std::min({next, coordinator_.next_deadline(), connects_at_});
}

/// Fails all named operations of the group when a rank is gone that they need. Rank 0 has links to
/// the ranks that it waits for, so that it sees their end.
void NamedCollectives::stop_without_lost(Time now) {
  const bool connects = now >= connects_at_;
  if (connects) connects_at_ = Time::max();
  for (int rank = 0; rank < peers_.size(); ++rank) {
    if (rank == peers_.rank() || (peers_.rank() > 0 && rank > 0)) continue;
    if (!connects && !peers_.gone(rank)) continue;
    const bool needed =
        peers_.rank() == 0 ? coordinator_.waits_for(rank) : !calls_.undecided().empty();
    if (!needed) continue;
    if (!peers_.gone(rank)) {
      peers_.connect(rank);
      continue;
    }
    return lane_.stop_all({Errc::peer_lost, peers_.job_rank(rank), peers_.gone_reason(rank)});
  }
}

void NamedCollectives::fail_all(const OperationFailure& why) {
  failed_ = why;
  lane_.fail_all(why);
  for (const Turn& turn : turns_) {
    for (const Work& work : turn.bucket.members())
      end(*work, why);
    if (turn.join) end(*turn.join, why);
  }
  for (const auto& [name, work] : calls_.undecided())
    end(*work, why);
  late_.fail_running(why);
  turns_.clear();
  calls_.clear();
}

void NamedCollectives::leave() {
  lane_.leave();
  fail_all({Errc::closed, -1, "the group has been finalized"});
}

size_t NamedCollectives::entries() const {
  const size_t own = calls_.entries() + late_.entries() + turns_.size();
  // After a failure, nothing is added to the coordinator any more.
  return own + (failed_ ? 0 : coordinator_.entries());
}

void NamedCollectives::add_waits(std::vector<PendingWait>& waits) const {
  if (!turns_.empty()) {
    std::vector<PendingWait> of_lane;
    lane_.add_wait(of_lane);
    const uint64_t progress = of_lane.empty() ? 0 : of_lane.front().progress;
    waits.push_back({turns_.front().bucket.members().front().get(), progress});
  }
  for (const auto& [name, work] : calls_.undecided())
    waits.push_back({work.get(), 0});
}

std::vector<int> NamedCollectives::awaited(const Operation& operation) const {
  const uint64_t name = hash_of_name(operation.request.name);
  if (!calls_.is_undecided(name)) return lane_.awaited();
  if (peers_.rank() != 0) return {peers_.job_rank(0)};
  std::vector<int> ranks = coordinator_.missing(name);
  for (int& rank : ranks)
    rank = peers_.job_rank(rank);
  return ranks;
}

int NamedCollectives::data_from() const {
  if (!turns_.empty()) return lane_.data_from();
  return peers_.rank() == 0 ? -1 : peers_.job_rank(0);
}

}  // namespace dt
