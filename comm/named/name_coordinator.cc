#include "comm/named/name_coordinator.h"

#include "base/format.h"
#include "comm/group/collective_stop.h"
#include "comm/named/join.h"
#include "comm/schedule/operation_request.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace dt {

namespace {

/// A rank with several threads may still make the call that the others wait for.
constexpr Duration deadlock_after = seconds(1);

size_t bytes_of(const Descriptor& descriptor) {
  return descriptor.count * element_bytes(descriptor.type);
}

bool has_quorum(const NameArrival& arrival) {
  return arrival.part_of.list != 0 && arrival.descriptor.kind == OperationKind::all_reduce &&
         arrival.descriptor.terms.quorum.ranks > 0;
}

/// The call as ranks that have joined need it.
Descriptor for_joined(Descriptor call) {
  call.name.clear();
  call.terms.has_shape = false;
  call.terms.shape.clear();
  return call;
}

}  // namespace

Result<> NameCoordinator::add(int rank, NameArrival arrival, Time now) {
  if (has_quorum(arrival) && !quorums_.add(rank, arrival, now)) return {};
  const uint64_t name = arrival.descriptor.name_hash;
  const size_t ranks = options_.job_ranks.size();
  const bool of_list = arrival.part_of.list != 0 && !has_quorum(arrival);
  Pending& pending = pending_
                         .try_emplace(name, Pending{.first = arrival.descriptor,
                                                    .arrived = std::vector<bool>(ranks),
                                                    .part_of = arrival.part_of,
                                                    .route = arrival.wish,
                                                    .of_unnamed = arrival.of_unnamed,
                                                    .before = arrival.before})
                         .first->second;
  const auto index = static_cast<size_t>(rank);
  if (pending.arrived[index] || is_excused(rank, pending)) {
    return fail(Errc::protocol,
                format("{} of {}",
                       pending.arrived[index] ? "a second announcement" : "after a join, a call",
                       collective_label(arrival.descriptor.kind, 0, arrival.descriptor.name)));
  }
  if (of_list) lengths_.add(rank, arrival.part_of);
  pending.arrived[index] = true;
  ++pending.arrivals;
  if (rank == 0) pending.priority = arrival.priority;
  if (arrival.wish) pending.route = std::min(pending.route.value_or(*arrival.wish), *arrival.wish);
  // NCCL runs other calls before it on that rank.
  if (arrival.wish && arrival.before != pending.before)
    pending.route = std::min(*pending.route, DeviceRoute::undecided);
  const bool limited = arrival.timeout > Duration::zero() && arrival.remaining < Time::max() - now;
  if (limited && now + arrival.remaining < pending.deadline) {
    limits_.erase({pending.deadline, name});
    pending.deadline = now + arrival.remaining;
    pending.timeout = arrival.timeout;
    limits_.emplace(pending.deadline, name);
  }
  // A rank that has joined makes no new calls by name, whether or not a thread waits.
  if (arrival.blocks || name == join_hash()) blocked_[rank].insert(name);
  if (!(arrival.descriptor == pending.first))
    pending.differing.emplace(rank, std::move(arrival.descriptor));
  if (name == join_hash()) {
    join(rank);
  } else if (is_complete(pending)) {
    complete(name, pending);
  }
  complete_join();
  if (of_list) fail_lists(lengths_.unequal(arrival.part_of, joined_));
  deadlock_at_ = blocked_.size() == ranks ? now + deadlock_after : Time::max();
  return {};
}

std::vector<NameDecision> NameCoordinator::deadlock(Time now) {
  if (now < deadlock_at_ || !complete_.empty()) return {};
  // The copies of a device take as long as they need.
  const bool owed =
      std::ranges::any_of(blocked_, [&](const auto& it) { return owes_data(it.first); });
  deadlock_at_ = owed ? now + deadlock_after : Time::max();
  if (owed) return {};
  std::vector<Descriptor> calls;  // one of each rank
  std::vector<int> ranks;
  std::set<uint64_t> names;
  for (const auto& [rank, blocked] : blocked_) {
    if (has_joined(rank)) continue;
    const uint64_t name = *blocked.begin();
    const Pending& pending = pending_.at(name);
    const auto differing = pending.differing.find(rank);
    calls.push_back(differing == pending.differing.end() ? pending.first : differing->second);
    ranks.push_back(rank);
    names.insert(blocked.begin(), blocked.end());
  }
  if (calls.empty()) return {};
  const std::optional<Mismatch> found = compare(calls, job_ranks_of(ranks), 0);
  if (!found) return {};
  std::vector<NameDecision> decisions = fail_together(names, *found);
  std::erase_if(blocked_, [&](const auto& blocked) { return !has_joined(blocked.first); });
  return decisions;
}

/// Ends the matching of calls that can never all be made.
std::vector<NameDecision> NameCoordinator::fail_together(const std::set<uint64_t>& names,
                                                         const Mismatch& mismatch) {
  std::vector<uint64_t> failing(names.begin(), names.end());
  for (const uint64_t name : names) {
    quorums_.forget(pending_.at(name).part_of.list);
    // The parts that its list has held fail with it.
    lengths_.forget(pending_.at(name).part_of);
    const auto held = lists_.find(pending_.at(name).part_of.list);
    if (held != lists_.end()) {
      for (const Complete& part : held->second)
        failing.push_back(part.call.name_hash);
      lists_.erase(held);
    }
    limits_.erase({pending_.at(name).deadline, name});
    expected_.erase(name);
    pending_.erase(name);
  }
  const OperationFailure why{Errc::mismatch, mismatch.blamed_rank,
                             mismatch.text.substr(0, reason_bytes_max)};
  std::vector<NameDecision> decisions;
  for (const uint64_t name : failing) {
    if (decisions.empty() || decisions.back().names.size() == names_per_decision_max)
      decisions.push_back({.names = {}, .failure = why});
    decisions.back().names.push_back(name);
  }
  return decisions;
}

/// Fails lists of one name whose lengths differ.
void NameCoordinator::fail_lists(const std::vector<uint64_t>& lists) {
  if (lists.empty()) return;
  std::set<uint64_t> names;
  std::map<int, Descriptor> firsts;  // by rank: that of its first part
  for (const auto& [name, pending] : pending_) {
    if (std::ranges::find(lists, pending.part_of.list) == lists.end()) continue;
    names.insert(name);
    for (int rank = 0; rank < static_cast<int>(pending.arrived.size()); ++rank) {
      if (!pending.arrived[static_cast<size_t>(rank)]) continue;
      const auto differing = pending.differing.find(rank);
      const Descriptor& own =
          differing == pending.differing.end() ? pending.first : differing->second;
      const auto first = firsts.try_emplace(rank, own).first;
      if (own.name < first->second.name) first->second = own;
    }
  }
  std::vector<Descriptor> calls;
  std::vector<int> ranks;
  for (auto& [rank, first] : firsts) {
    calls.push_back(std::move(first));
    ranks.push_back(rank);
  }
  const std::optional<Mismatch> found = compare(calls, job_ranks_of(ranks), 0);
  if (!found) return;
  for (const uint64_t name : names)
    forget_blocked(name);
  for (NameDecision& decision : fail_together(names, *found))
    failed_.push_back(std::move(decision));
}

void NameCoordinator::complete(uint64_t name, Pending& pending) {
  limits_.erase({pending.deadline, name});
  forget_blocked(name);
  if (name == join_hash()) {
    all_joined_ = NameDecision{.names = {name}, .last_joined = joined_.back()};
    joined_.clear();
  } else {
    const ListPart part_of = pending.part_of;
    Complete call = completed(pending);
    expected_.erase(name);
    finish(part_of, std::move(call));
  }
  pending_.erase(name);
}

/// Ends a join of all ranks.
void NameCoordinator::complete_join() {
  const auto found = pending_.find(join_hash());
  if (found != pending_.end() && is_complete(found->second)) complete(join_hash(), found->second);
}

bool NameCoordinator::owes_data(int rank) const {
  const auto index = static_cast<size_t>(rank);
  return std::ranges::any_of(expected_, [&](const auto& expected) {
    const auto found = pending_.find(expected.first);
    const bool announced = found != pending_.end() && found->second.arrived[index];
    return expected.second[index] && !announced;
  });
}

void NameCoordinator::forget_blocked(uint64_t name) {
  for (auto& [rank, names] : blocked_)
    names.erase(name);
  std::erase_if(blocked_, [](const auto& blocked) { return blocked.second.empty(); });
}

void NameCoordinator::decide_quorums(Time now) {
  for (const QuorumSteps::Step& step : quorums_.decide(now, joined_))
    close_step(step);
}

/// Ends the matching of a step. The calls of ranks that are late are not compared here.
void NameCoordinator::close_step(const QuorumSteps::Step& step) {
  const auto contributions = std::ranges::count(step.participants, true);
  const bool all = contributions == static_cast<std::ptrdiff_t>(step.participants.size());
  std::vector<Complete> together;
  for (const uint64_t name : step.names) {
    const auto found = pending_.find(name);
    if (found == pending_.end()) continue;
    Pending& pending = found->second;
    for (size_t rank = 0; rank < step.participants.size(); ++rank) {
      if (step.participants[rank]) continue;
      pending.arrived[rank] = false;
      pending.differing.erase(static_cast<int>(rank));
    }
    limits_.erase({pending.deadline, name});
    forget_blocked(name);
    const auto chosen = std::ranges::find(step.participants, true) - step.participants.begin();
    const auto differing = pending.differing.find(static_cast<int>(chosen));
    Complete call{.call = differing == pending.differing.end() ? pending.first : differing->second,
                  .for_joined = !all,
                  .priority = pending.priority};
    if (pending.arrived != step.participants) {
      call.failure = OperationFailure{Errc::mismatch, -1, "the lists of the ranks differ"};
    } else if (!pending.differing.empty()) {
      call.failure = mismatch(pending);
    }
    if (!all) call.participants = step.participants;
    if (!all && call.call.reduce == ReduceOp::average)
      call.average_over = static_cast<int>(contributions);
    pending_.erase(found);
    together.push_back(std::move(call));
  }
  release(std::move(together));
}

NameCoordinator::Complete NameCoordinator::completed(Pending& pending) {
  const bool of_unnamed = pending.of_unnamed;
  Complete call = compared(pending);
  const bool staged = call.route == DeviceRoute::staged || call.route == DeviceRoute::undecided;
  if (staged && !of_unnamed && !call.failure) call.announce_data = pending.arrived;
  return call;
}

NameCoordinator::Complete NameCoordinator::compared(Pending& pending) {
  if (!pending.differing.empty()) {
    std::optional<OperationFailure> failure = mismatch(pending);
    return {.call = std::move(pending.first), .failure = std::move(failure)};
  }
  if (const std::vector<int> joined = joined_without(pending); !joined.empty())
    return completed_without(joined, pending);
  return {.call = std::move(pending.first), .priority = pending.priority, .route = pending.route};
}

/// Completes a call that ranks which have joined have not made.
NameCoordinator::Complete NameCoordinator::completed_without(const std::vector<int>& joined,
                                                             Pending& pending) {
  Descriptor& call = pending.first;
  const std::string obstacle = obstacle_of_joined(call, joined);
  if (obstacle.empty() && pending.route) {
    return {.call = std::move(call),
            .priority = pending.priority,
            .route = std::min(*pending.route, DeviceRoute::staged)};
  }
  if (obstacle.empty()) {
    const int average_over = call.terms.average_active ? static_cast<int>(pending.arrivals) : 0;
    return {.call = std::move(call),
            .for_joined = true,
            .average_over = average_over,
            .priority = pending.priority};
  }
  const std::vector<int> ranks = job_ranks_of(joined);
  const std::string reason =
      format("{}: {} joined, and {}", collective_label(call.kind, 0, call.name),
             ranks.size() > 1        ? ranks_text(ranks) + " have"
             : options_.name_of_rank ? options_.name_of_rank(joined.front()) + " has"
                                     : ranks_text(ranks) + " has",
             obstacle);
  return {.call = std::move(call),
          .failure =
              OperationFailure{Errc::mismatch, ranks.front(), reason.substr(0, reason_bytes_max)}};
}

/// Holds a part of a list until the others are there.
void NameCoordinator::finish(const ListPart& part_of, Complete complete) {
  std::vector<Complete> together;
  if (part_of.list != 0) {
    std::vector<Complete>& held = lists_[part_of.list];
    held.push_back(std::move(complete));
    if (held.size() < part_of.parts) return;
    together = std::move(held);
    lists_.erase(part_of.list);
    lengths_.forget(part_of);
  } else {
    together.push_back(std::move(complete));
  }
  release(std::move(together));
}

/// Releases calls to be run. If one has failed, all do. Keeps the order of the priorities, and
/// within one that of the calls.
void NameCoordinator::release(std::vector<Complete> together) {
  const auto failed =
      std::ranges::find_if(together, [](const Complete& c) { return c.failure.has_value(); });
  if (failed != together.end()) {
    for (const Complete& complete : together)
      failed_.push_back({.names = {complete.call.name_hash},
                         .failure = failed->failure,
                         .participants = complete.participants});
    return;
  }
  for (Complete& complete : together) {
    if (!complete.announce_data.empty())
      expected_.emplace(complete.call.name_hash, std::move(complete.announce_data));
    const auto behind = std::ranges::upper_bound(complete_, complete.priority,
                                                 std::ranges::greater(), &Complete::priority);
    complete_.insert(behind, std::move(complete));
  }
}

bool NameCoordinator::has_joined(int rank) const {
  return std::ranges::find(joined_, rank) != joined_.end();
}

bool NameCoordinator::is_excused(int rank, const Pending& pending) const {
  if (!has_joined(rank) || pending.of_unnamed) return false;
  const auto expected = expected_.find(pending.first.name_hash);
  return expected == expected_.end() || !expected->second[static_cast<size_t>(rank)];
}

std::vector<int> NameCoordinator::joined_without(const Pending& pending) const {
  std::vector<int> ranks;
  for (const int rank : joined_)
    if (!pending.arrived[static_cast<size_t>(rank)] && is_excused(rank, pending))
      ranks.push_back(rank);
  return ranks;
}

/// Calls that only waited for this rank are now complete.
void NameCoordinator::join(int rank) {
  joined_.push_back(rank);
  std::vector<uint64_t> names;
  for (const auto& [name, pending] : pending_)
    if (name != join_hash() && is_complete(pending)) names.push_back(name);
  for (const uint64_t name : names)
    complete(name, pending_.at(name));
}

bool NameCoordinator::is_complete(const Pending& pending) const {
  if (pending.first.terms.quorum.ranks > 0 && pending.part_of.list != 0) return false;
  if (pending.first.name_hash == join_hash() && !expected_.empty()) return false;
  return pending.arrivals + joined_without(pending).size() == options_.job_ranks.size();
}

std::vector<int> NameCoordinator::job_ranks_of(std::vector<int> ranks) const {
  for (int& rank : ranks)
    rank = options_.job_ranks[static_cast<size_t>(rank)];
  return ranks;
}

/// Returns how the calls of the ranks that have made it differ; none if they do not.
std::optional<OperationFailure> NameCoordinator::mismatch(const Pending& pending) const {
  std::vector<Descriptor> calls;
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(pending.arrived.size()); ++rank) {
    if (!pending.arrived[static_cast<size_t>(rank)]) continue;
    const auto differing = pending.differing.find(rank);
    calls.push_back(differing == pending.differing.end() ? pending.first : differing->second);
    ranks.push_back(rank);
  }
  NameOfRank name_of = {};
  if (options_.name_of_rank)
    name_of = [&](int index) { return options_.name_of_rank(ranks[static_cast<size_t>(index)]); };
  const std::optional<Mismatch> found = compare(calls, job_ranks_of(ranks), 0, name_of);
  if (!found) return std::nullopt;
  return OperationFailure{Errc::mismatch, found->blamed_rank,
                          found->text.substr(0, reason_bytes_max)};
}

bool NameCoordinator::can_be_fused(const Descriptor& descriptor) const {
  return descriptor.kind == OperationKind::all_reduce && descriptor.count > 0 &&
         descriptor.reduce != ReduceOp::adasum && bytes_of(descriptor) <= options_.fused_bytes_max;
}

std::vector<NameDecision> NameCoordinator::decide() {
  struct OpenBucket {
    const Complete* first;
    size_t bytes;
    size_t index;
  };
  std::vector<NameDecision> decisions = std::move(failed_);
  failed_.clear();
  std::vector<OpenBucket> open;
  for (const Complete& complete : complete_) {
    const Descriptor& call = complete.call;
    const auto fits = [&](const OpenBucket& bucket) {
      return bucket.first->call.type == call.type && bucket.first->call.reduce == call.reduce &&
             bucket.first->call.terms.compression == call.terms.compression &&
             bucket.first->average_over == complete.average_over &&
             bucket.first->participants == complete.participants &&
             bucket.first->route == complete.route &&
             bucket.bytes + bytes_of(call) <= options_.bucket_bytes &&
             decisions[bucket.index].names.size() < names_per_decision_max &&
             decisions[bucket.index].for_joined.size() < names_for_joined_max;
    };
    const bool fusible = can_be_fused(call);
    auto bucket = fusible ? std::ranges::find_if(open, fits) : open.end();
    const size_t index = bucket == open.end() ? decisions.size() : bucket->index;
    if (bucket != open.end()) {
      bucket->bytes += bytes_of(call);
    } else {
      if (fusible) open.push_back({&complete, bytes_of(call), index});
      decisions.push_back({.names = {},
                           .average_over = complete.average_over,
                           .participants = complete.participants,
                           .route = complete.route});
    }
    decisions[index].names.push_back(call.name_hash);
    if (complete.for_joined) decisions[index].for_joined.push_back(for_joined(call));
  }
  complete_.clear();
  if (all_joined_) decisions.push_back(*std::exchange(all_joined_, std::nullopt));
  return decisions;
}

size_t NameCoordinator::entries() const {
  size_t blocked = 0;
  for (const auto& [rank, names] : blocked_)
    blocked += names.size();
  size_t held = 0;
  for (const auto& [list, parts] : lists_)
    held += parts.size();
  return pending_.size() + limits_.size() + blocked + complete_.size() + failed_.size() +
         joined_.size() + held + lengths_.entries() + quorums_.entries() + expected_.size() +
         (all_joined_ ? 1 : 0);
}

std::optional<NameCoordinator::Overdue> NameCoordinator::overdue(Time now) const {
  if (limits_.empty() || limits_.begin()->first > now) return std::nullopt;
  const uint64_t name = limits_.begin()->second;
  const Pending& pending = pending_.at(name);
  return Overdue{pending.first, pending.timeout, missing(name)};
}

Time NameCoordinator::next_deadline() const {
  const Time next = std::min(deadlock_at_, quorums_.next_deadline());
  return limits_.empty() ? next : std::min(next, limits_.begin()->first);
}

bool NameCoordinator::waits_for(int rank) const {
  return owes_data(rank) || std::any_of(pending_.begin(), pending_.end(), [&](const auto& entry) {
           const Pending& pending = entry.second;
           return !pending.arrived[static_cast<size_t>(rank)] && !is_excused(rank, pending);
         });
}

std::vector<int> NameCoordinator::missing(uint64_t name) const {
  std::vector<int> ranks;
  const auto found = pending_.find(name);
  if (found == pending_.end()) return ranks;
  for (size_t rank = 0; rank < found->second.arrived.size(); ++rank)
    if ((!found->second.arrived[rank] && !is_excused(static_cast<int>(rank), found->second)) ||
        (name == join_hash() && owes_data(static_cast<int>(rank))))
      ranks.push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace dt
