#include "comm/named/quorum_steps.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

bool is_among(std::span<const int> ranks, size_t rank) {
  return std::ranges::find(ranks, static_cast<int>(rank)) != ranks.end();
}

Time deadline_of(Time first, const Quorum& quorum) {
  const bool limited = first != Time::max() && quorum.deadline_ms > 0;
  return limited ? first + milliseconds(quorum.deadline_ms) : Time::max();
}

}  // namespace

bool QuorumSteps::add(int rank, const NameArrival& arrival, Time now) {
  if (!lists_.contains(arrival.part_of.list)) make_room();
  List& list =
      lists_
          .try_emplace(arrival.part_of.list, List{.quorum = arrival.descriptor.terms.quorum,
                                                  .parts = arrival.part_of.parts,
                                                  .announced = std::vector<uint32_t>(ranks_),
                                                  .behind = std::vector<uint32_t>(ranks_),
                                                  .late = std::vector<uint32_t>(ranks_)})
          .first->second;
  const auto index = static_cast<size_t>(rank);
  if (list.behind[index] > 0) {
    if (++list.late[index] < list.parts) return false;
    list.late[index] = 0;
    --list.behind[index];
    return false;
  }
  // Ranks that disagree in a step may have agreed in the next one.
  if (list.names.empty()) list.quorum = arrival.descriptor.terms.quorum;
  const uint64_t name = arrival.descriptor.name_hash;
  if (std::ranges::find(list.names, name) == list.names.end()) list.names.push_back(name);
  if (++list.announced[index] == list.parts) list.first = std::min(list.first, now);
  return true;
}

void QuorumSteps::make_room() {
  if (lists_.size() < lists_max) return;
  std::erase_if(lists_, [this](const auto& entry) { return is_idle(entry.second); });
}

bool QuorumSteps::is_idle(const List& list) const {
  return list.names.empty() &&
         std::ranges::count(list.behind, 0U) == static_cast<std::ptrdiff_t>(ranks_);
}

std::vector<QuorumSteps::Step> QuorumSteps::decide(Time now, std::span<const int> joined) {
  std::vector<Step> steps;
  for (auto& [key, list] : lists_) {
    list.overdue = now >= deadline_of(list.first, list.quorum);
    if (is_decided(list, now, joined)) steps.push_back(close(list, joined));
  }
  return steps;
}

bool QuorumSteps::is_decided(const List& list, Time now, std::span<const int> joined) const {
  size_t active = 0;
  size_t ready = 0;
  bool too_far_behind = false;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    if (is_among(joined, rank)) continue;
    ++active;
    const bool here = list.announced[rank] >= list.parts;
    ready += here ? 1 : 0;
    if (!here && list.behind[rank] >= std::max(list.quorum.behind_max, 1U)) too_far_behind = true;
  }
  if (ready == 0 || too_far_behind) return false;
  if (ready == active) return true;
  if (!list.met) return false;
  return ready >= list.quorum.ranks || now >= deadline_of(list.first, list.quorum);
}

QuorumSteps::Step QuorumSteps::close(List& list, std::span<const int> joined) {
  Step step{.names = std::exchange(list.names, {})};
  for (size_t rank = 0; rank < list.announced.size(); ++rank) {
    const bool takes_part = list.announced[rank] >= list.parts;
    step.participants.push_back(takes_part);
    const uint32_t announced = std::exchange(list.announced[rank], 0);
    if (takes_part || is_among(joined, rank)) continue;
    ++list.behind[rank];
    // It has announced a part, and is about to announce the others.
    list.late[rank] += announced;
  }
  list.met = true;
  list.first = Time::max();
  list.overdue = false;
  return step;
}

Time QuorumSteps::next_deadline() const {
  Time next = Time::max();
  for (const auto& [key, list] : lists_)
    if (list.met && !list.overdue) next = std::min(next, deadline_of(list.first, list.quorum));
  return next;
}

size_t QuorumSteps::entries() const {
  size_t entries = 0;
  for (const auto& [key, list] : lists_) {
    entries += list.names.size();
    for (const uint32_t behind : list.behind)
      entries += behind;
  }
  return entries;
}

}  // namespace dt
