// Calls that were decided without this rank.
#include "comm/named/join.h"
#include "comm/named/named_collectives.h"

#include <algorithm>
#include <utility>

namespace dt {

bool NamedCollectives::is_late(const NameDecision& decision) const {
  const auto self = static_cast<size_t>(lane_.peers().rank());
  return !decision.participants.empty() && !decision.participants[self];
}

std::vector<int> NamedCollectives::participants_of(const NameDecision& decision) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < lane_.peers().size(); ++rank)
    if (decision.participants.empty() || decision.participants[static_cast<size_t>(rank)])
      ranks.push_back(rank);
  return ranks;
}

/// Returns the call that this rank makes without its own contribution: it is late, or has joined.
/// Returns null where neither is possible.
NamedCollectives::Work NamedCollectives::stand_in(Playing& playing, const NameDecision& decision,
                                                  uint64_t name) {
  const auto call = std::ranges::find(decision.for_joined, name, &Descriptor::name_hash);
  const bool joined = pending_.contains(join_hash());
  const bool late = is_late(decision);
  if (call == decision.for_joined.end() || (!joined && !late)) return nullptr;
  Work stand_in = joined_call(*call, lane_.peers().size());
  if (joined) return stand_in;
  const auto found = pending_.find(name);
  playing.late.push_back({.name = name,
                          .stand_in = stand_in,
                          .call = *call,
                          .participants = playing.participants,
                          .user = found == pending_.end() ? nullptr : found->second});
  return stand_in;
}

/// The results of calls that this rank has not made yet wait for these.
void NamedCollectives::finish_late(Playing& playing) {
  for (LateCall& late : std::exchange(playing.late, {})) {
    const Result<>& outcome = *late.stand_in->outcome;
    if (!outcome)
      late.failure = OperationFailure{outcome.error().code, late.stand_in->blamed_rank,
                                      outcome.error().message};
    if (!late.user) {
      late_.keep(std::move(late));
      continue;
    }
    const Work user = late.user;
    played_.erase(late.name);
    limits_.erase({deadline(*user), user.get()});
    late_.deliver(std::move(late), lane_.peers());
  }
}

/// Returns true if the call was decided without this rank. It then ends with the result of the
/// others, and rank 0 learns that this rank has made it.
bool NamedCollectives::deliver_late(const Work& operation) {
  const uint64_t name = hash_of_name(operation->request.name);
  // An operation that has ended has no list any more.
  const NameArrival arrival{.descriptor = Descriptor::of(operation->request),
                            .place = ListPlace::of(*operation)};
  if (late_.has(name)) {
    if (!failed_) unannounced_late_.push_back(arrival);
    LateCall late = late_.take(name);
    late.user = operation;
    late_.deliver(std::move(late), lane_.peers());
    return true;
  }
  for (Playing& playing : playing_) {
    const auto late = std::ranges::find(playing.late, name, &LateCall::name);
    if (late == playing.late.end() || late->user) continue;
    late->user = operation;
    played_.emplace(name, operation);
    if (const Time end = deadline(*operation); end != Time::max())
      limits_.emplace(end, operation.get());
    unannounced_late_.push_back(arrival);
    return true;
  }
  return false;
}

void NamedCollectives::keep_failure(const NameDecision& decision, uint64_t name) {
  late_.keep(
      {.name = name, .participants = participants_of(decision), .failure = decision.failure});
}

}  // namespace dt
