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

std::optional<DeviceRoute> wish_of(const OperationRequest& request) {
  if (!request.agreement) return std::nullopt;
  return request.agreement->wish;
}

bool is_of_unnamed(const OperationRequest& request) {
  return request.agreement && request.agreement->of_unnamed;
}

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
    : lane_(std::move(lane), std::move(memory)),
      prepare_(std::move(prepare)),
      coordinator_({.job_ranks = lane_.peers().job_ranks(),
                    .name_of_rank = [this](int rank) { return lane_.peers().name(rank); }}) {
}

void NamedCollectives::submit(std::shared_ptr<Operation> operation) {
  const bool quorum = operation->request.terms && operation->request.terms->quorum.ranks > 0;
  serves_ = serves_ || quorum;
  if (quorum && deliver_late(operation)) return;
  if (failed_) return end(*operation, *failed_);
  const uint64_t name = hash_of_name(operation->request.name);
  const bool agreed = is_of_unnamed(operation->request) || operation->request.follows_agreement;
  if (has_joined() && !agreed) {
    return end(*operation, {Errc::input, -1,
                            "this rank has joined; it can make named calls when all ranks have"});
  }
  if (is_pending(operation->request.name))
    return end(*operation, {Errc::input, -1, std::string(name_is_pending)});
  pending_.emplace(name, operation);
  if (const Time end = deadline(*operation); end != Time::max())
    limits_.emplace(end, operation.get());
  unannounced_.push_back(std::move(operation));
}

bool NamedCollectives::is_pending(std::string_view name) const {
  const uint64_t hash = hash_of_name(name);
  return pending_.contains(hash) || played_.contains(hash);
}

bool NamedCollectives::step(Time now) {
  if (failed_) {
    const bool moved = play(now) || fail_undecided();
    // The last message of a bucket before the stop may be lost on a silent link.
    if (!playing_.empty()) stop_late(now);
    return moved;
  }
  bool moved = announce(now);
  coordinator_.decide_quorums(now);
  moved |= decide(now);
  moved |= play(now);
  stop_overdue(now);
  stop_without_lost(now);
  if (const CollectiveStop* stop = lane_.stopped()) {
    failed_ = stop->why;
    unannounced_.clear();
    unannounced_late_.clear();
    moved = true;
  }
  return moved;
}

/// Fails the calls that will not be run. Ranks run all buckets that come before a stop, so this
/// one waits for the decisions about those.
bool NamedCollectives::fail_undecided() {
  if (pending_.empty() || awaits_decisions()) return false;
  for (const auto& [name, work] : std::exchange(pending_, {})) {
    limits_.erase({deadline(*work), work.get()});
    end(*work, *failed_);
  }
  return true;
}

bool NamedCollectives::awaits_decisions() const {
  const CollectiveStop* stop = lane_.stopped();
  return stop != nullptr && buckets_ + 1 < stop->from && !lane_.peers().gone(0);
}

/// Sends rank 0 the calls that are new.
bool NamedCollectives::announce(Time now) {
  if (unannounced_.empty() && unannounced_late_.empty()) return false;
  std::vector<NameArrival> arrivals = std::exchange(unannounced_late_, {});
  for (const Work& work : std::exchange(unannounced_, {})) {
    const Time end = deadline(*work);
    const bool limited = end != Time::max();
    arrivals.push_back(
        {.descriptor = Descriptor::of(work->request),
         .timeout = limited ? work->request.timeout : Duration::zero(),
         .remaining = limited ? std::max(end - now, Duration::zero()) : Duration::zero(),
         .blocks = work->request.blocks,
         .place = ListPlace::of(*work),
         .priority = work->request.priority,
         .wish = wish_of(work->request),
         .of_unnamed = is_of_unnamed(work->request)});
  }
  if (lane_.peers().rank() == 0) {
    for (NameArrival& arrival : arrivals)
      // A rank's own calls are announced once.
      (void)coordinator_.add(0, std::move(arrival), now);
    connects_at_ = std::min(connects_at_, now + connect_after);
    return true;
  }
  for (size_t from = 0; from < arrivals.size();)
    lane_.send(0, EngineMessageType::name_call, encode_arrivals(arrivals, from));
  return true;
}

Result<> NamedCollectives::announcement(const Message& message, ByteSpan payload, Time now) {
  const int rank = lane_.peers().rank_of(message.from);
  if (lane_.peers().rank() != 0) return fail(Errc::protocol, "a named call for another rank");
  if (failed_) return {};
  for (NameArrival& arrival : TRY(decode_arrivals(payload)))
    TRY(coordinator_.add(rank, std::move(arrival), now));
  connects_at_ = std::min(connects_at_, now + connect_after);
  return {};
}

/// Rank 0: sends its decisions to all, and applies them.
bool NamedCollectives::decide(Time now) {
  if (lane_.peers().rank() != 0) return false;
  std::vector<NameDecision> decisions = coordinator_.decide();
  if (playing_.empty())
    for (NameDecision& deadlock : coordinator_.deadlock(now))
      decisions.push_back(std::move(deadlock));
  for (const NameDecision& decision : decisions) {
    const Bytes message = encode(decision);
    for (int rank = 1; rank < lane_.peers().size(); ++rank)
      lane_.send(rank, EngineMessageType::name_decision, message);
    // Rank 0 has announced what it decides about.
    (void)apply(decision);
  }
  return !decisions.empty();
}

Result<> NamedCollectives::decision(const Message& message, ByteSpan payload) {
  if (lane_.peers().rank_of(message.from) != 0)
    return fail(Errc::protocol, "a decision from another rank than 0");
  const NameDecision decision = TRY(decode_name_decision(payload));
  if (decision.failure) TRY(lane_.peers().check_blamed(decision.failure->blamed_rank));
  if (!decision.participants.empty() &&
      decision.participants.size() != static_cast<size_t>(lane_.peers().size()))
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
    const auto found = pending_.find(name);
    if (found == pending_.end()) {
      // This rank has not made the call.
      if (is_late(decision)) keep_failure(decision, name);
      continue;
    }
    const Work work = take(found);
    // The text of a mismatch includes the label.
    if (why.code == Errc::mismatch) end_labelled(*work, why);
    if (why.code == Errc::timeout) end(*work, why);
  }
  return {};
}

/// Queues the calls for their turn. Where memory runs out, each operation is still in pending_ or
/// in playing_, so fail_all() ends it.
Result<> NamedCollectives::queue(const NameDecision& decision) {
  const bool late = is_late(decision);
  Playing playing{.participants = participants_of(decision)};
  std::vector<Work> members;
  for (const uint64_t name : decision.names) {
    const auto found = pending_.find(name);
    const bool contributes = found != pending_.end() && !late;
    members.push_back(contributes ? found->second : stand_in(playing, decision, name));
    if (!members.back()) return fail(Errc::protocol, "a decision about a name that is not pending");
    if (found != pending_.end()) played_.emplace(name, found->second);
    OperationRequest& request = members.back()->request;
    if (request.agreement) return fail(Errc::protocol, "a call without data is to be played");
    if (auto sum = contributes ? late_.add_carried(request) : nullptr)
      playing.carried.push_back(std::move(sum));
  }
  playing.bucket = Bucket(members, decision.average_over);
  playing_.push_back(std::move(playing));
  ++buckets_;
  for (const uint64_t name : decision.names)
    pending_.erase(name);
  return {};
}

/// Ends calls that move no data.
Result<> NamedCollectives::agree(const NameDecision& decision) {
  const bool by_nccl = *decision.route == DeviceRoute::nccl;
  std::vector<Work> calls;
  for (const uint64_t name : decision.names) {
    const auto found = pending_.find(name);
    if (found == pending_.end() && has_joined() && !by_nccl) continue;
    if (found == pending_.end() || !found->second->request.agreement)
      return fail(Errc::protocol, "an agreement on a name that is not pending");
    calls.push_back(found->second);
  }
  if (by_nccl && !can_be_one(calls))
    return fail(Errc::protocol, "a bucket of calls that differ, or are too large");
  NcclSlot slot{.bucket = nccl_buckets_, .members = static_cast<uint32_t>(calls.size())};
  if (by_nccl) ++nccl_buckets_;
  for (const Work& call : calls) {
    const auto found = pending_.find(hash_of_name(call->request.name));
    if (found == pending_.end()) return fail(Errc::protocol, "two agreements on one name");
    const Work work = take(found);
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
  const auto found = pending_.find(join_hash());
  if (found == pending_.end() || last >= lane_.peers().size())
    return fail(Errc::protocol, "a decision about a join that is not pending");
  if (playing_.empty()) {
    end_join(*take(found), last);
    return {};
  }
  playing_.back().join = std::move(found->second);
  playing_.back().last_joined = last;
  pending_.erase(found);
  return {};
}

/// Ends the join behind a bucket that has ended.
void NamedCollectives::finish_join(const Playing& playing) {
  limits_.erase({deadline(*playing.join), playing.join.get()});
  if (*playing.operation->outcome) return end_join(*playing.join, playing.last_joined);
  end(*playing.join, reason_without_label(*playing.operation));
}

bool NamedCollectives::has_joined() const {
  return pending_.contains(join_hash()) ||
         std::ranges::any_of(playing_,
                             [](const Playing& playing) { return playing.join != nullptr; });
}

/// Removes a call that will not be run.
NamedCollectives::Work NamedCollectives::take(std::unordered_map<uint64_t, Work>::iterator found) {
  Work work = std::move(found->second);
  limits_.erase({deadline(*work), work.get()});
  pending_.erase(found);
  return work;
}

/// Runs the buckets one after the other.
bool NamedCollectives::play(Time now) {
  bool moved = lane_.step(now);
  while (!playing_.empty()) {
    Playing& first = playing_.front();
    if (!first.operation) {
      start(first, now);
      if (const Result<> chosen = prepare_(lane_.peers(), first.operation->request); !chosen) {
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
    playing_.pop_front();
    fused_.trim();
    moved = true;
  }
  return moved;
}

/// The operation of a whole bucket has the time limit that ends first.
void NamedCollectives::start(Playing& playing, Time now) {
  playing.operation = std::make_shared<Operation>();
  Operation& whole = *playing.operation;
  whole.request = playing.bucket.request(lane_.peers().number(), fused_);
  whole.submitted = now;
  Time end = Time::max();
  for (const Work& work : playing.bucket.members()) {
    note_start(*work);
    if (deadline(*work) >= end) continue;
    end = deadline(*work);
    whole.submitted = work->submitted;
    whole.request.timeout = work->request.timeout;
  }
}

void NamedCollectives::finish(Playing& playing) {
  const Operation& whole = *playing.operation;
  last_label_ = label(*playing.bucket.members().back());
  if (*whole.outcome) playing.bucket.distribute({lane_.peers().rank(), lane_.peers().size()});
  for (const Work& work : playing.bucket.members()) {
    played_.erase(hash_of_name(work->request.name));
    limits_.erase({deadline(*work), work.get()});
    if (!*whole.outcome) {
      end(*work, reason_without_label(whole));
      continue;
    }
    if (work->request.terms && work->request.terms->quorum.ranks > 0) {
      note_participants(*work, playing.participants);
      late_.note_end(*work, false);
    }
    succeed(*work);
  }
  finish_late(playing);
}

/// Fails all named operations of the group when a time limit has ended.
void NamedCollectives::stop_overdue(Time now) {
  const GroupPeers& peers = lane_.peers();
  if (const auto overdue = coordinator_.overdue(now)) {
    const std::string text = missing_text(peers, overdue->timeout, overdue->missing);
    const NameDecision decision{
        .names = {overdue->descriptor.name_hash},
        .failure = OperationFailure{Errc::timeout, peers.job_rank(overdue->missing.front()), text}};
    for (int rank = 1; rank < peers.size(); ++rank)
      lane_.send(rank, EngineMessageType::name_decision, encode(decision));
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
  const GroupPeers& peers = lane_.peers();
  // The lane has the time limits of the bucket that it runs, and ends it sooner.
  if (limits_.empty() || limits_.begin()->first + decision_grace > now) return;
  const Operation& late = *limits_.begin()->second;
  const std::string after = "timed out after " + duration_text(late.request.timeout);
  if (pending_.contains(hash_of_name(late.request.name))) {
    const std::string reason = format("{}: {} has not answered", after, peers.name(0));
    return lane_.stop_all({Errc::timeout, peers.job_rank(0), reason});
  }
  const std::string front = label(*playing_.front().bucket.members().front());
  const std::string reason = format("{} on {} behind {}", after, peers.name(peers.rank()), front);
  lane_.stop_all({Errc::timeout, -1, reason});
}

Time NamedCollectives::next_deadline() const {
  if (failed_ && (limits_.empty() || playing_.empty())) return lane_.next_deadline();
  if (failed_) return std::min(lane_.next_deadline(), limits_.begin()->first + decision_grace);
  const Time next = std::min({lane_.next_deadline(), coordinator_.next_deadline(), connects_at_});
  return limits_.empty() ? next : std::min(next, limits_.begin()->first + decision_grace);
}

/// Fails all named operations of the group when a rank is gone that they need. Rank 0 has links to
/// the ranks that it waits for, so that it sees their end.
void NamedCollectives::stop_without_lost(Time now) {
  const GroupPeers& peers = lane_.peers();
  const bool connects = now >= connects_at_;
  if (connects) connects_at_ = Time::max();
  for (int rank = 0; rank < peers.size(); ++rank) {
    if (rank == peers.rank() || (peers.rank() > 0 && rank > 0)) continue;
    if (!connects && !peers.gone(rank)) continue;
    const bool needed = peers.rank() == 0 ? coordinator_.waits_for(rank) : !pending_.empty();
    if (!needed) continue;
    if (!peers.gone(rank)) {
      lane_.connect(rank);
      continue;
    }
    return lane_.stop_all({Errc::peer_lost, peers.job_rank(rank), peers.gone_reason(rank)});
  }
}

void NamedCollectives::fail_all(const OperationFailure& why) {
  failed_ = why;
  lane_.fail_all(why);
  for (const Playing& playing : playing_) {
    for (const Work& work : playing.bucket.members())
      end(*work, why);
    if (playing.join) end(*playing.join, why);
  }
  for (const auto& [name, work] : pending_)
    end(*work, why);
  for (const Playing& playing : playing_)
    for (const LateCall& late : playing.late)
      if (late.user) end(*late.user, why);
  playing_.clear();
  pending_.clear();
  played_.clear();
  limits_.clear();
  unannounced_.clear();
  unannounced_late_.clear();
}

void NamedCollectives::leave() {
  lane_.leave();
  fail_all({Errc::closed, -1, "the group has been finalized"});
}

size_t NamedCollectives::entries() const {
  const size_t own =
      pending_.size() + played_.size() + limits_.size() + unannounced_.size() + late_.entries();
  // After a failure, nothing is added to the coordinator any more.
  return own + playing_.size() + (failed_ ? 0 : coordinator_.entries());
}

void NamedCollectives::add_waits(std::vector<PendingWait>& waits) const {
  if (!playing_.empty()) {
    std::vector<PendingWait> of_lane;
    lane_.add_wait(of_lane);
    const uint64_t progress = of_lane.empty() ? 0 : of_lane.front().progress;
    waits.push_back({playing_.front().bucket.members().front().get(), progress});
  }
  for (const auto& [name, work] : pending_)
    waits.push_back({work.get(), 0});
}

std::vector<int> NamedCollectives::awaited(const Operation& operation) const {
  const GroupPeers& peers = lane_.peers();
  const uint64_t name = hash_of_name(operation.request.name);
  if (!pending_.contains(name)) return lane_.awaited();
  if (peers.rank() != 0) return {peers.job_rank(0)};
  std::vector<int> ranks = coordinator_.missing(name);
  for (int& rank : ranks)
    rank = peers.job_rank(rank);
  return ranks;
}

int NamedCollectives::data_from() const {
  if (!playing_.empty()) return lane_.data_from();
  return lane_.peers().rank() == 0 ? -1 : lane_.peers().job_rank(0);
}

}  // namespace dt
