#include "rendezvous/store/collections.h"

#include "base/format.h"

#include <set>
#include <utility>

namespace dt {

namespace {

/// The key of the goal's waits in a WaitList.
std::string key_of(const Collections::Goal& goal) {
  return format("{} {}", goal.count, goal.prefix);
}

}  // namespace

void Collections::add(const Goal& goal, size_t present, Wait wait) {
  wait.key = key_of(goal);
  collections_.emplace(wait.key, Collection{goal, present});
  waits_.add(std::move(wait));
}

std::vector<Collections::Goal> Collections::key_added(std::string_view key) {
  std::vector<Goal> complete;
  for (auto& [name, collection] : collections_) {
    if (!key.starts_with(collection.goal.prefix)) continue;
    if (++collection.present == collection.goal.count) complete.push_back(collection.goal);
  }
  return complete;
}

void Collections::key_erased(std::string_view key) {
  for (auto& [name, collection] : collections_) {
    if (key.starts_with(collection.goal.prefix)) --collection.present;
  }
}

std::vector<Wait> Collections::take(const Goal& goal) {
  std::vector<Wait> taken;
  const std::set<WaitList::Id> waiting = waits_.for_key(key_of(goal));
  for (const WaitList::Id id : waiting)
    taken.push_back(remove(id).wait);
  return taken;
}

std::vector<Collections::Due> Collections::take_due(Time now) {
  std::vector<Due> taken;
  const std::vector<WaitList::Id> due = waits_.due(now);
  for (const WaitList::Id id : due)
    taken.push_back(remove(id));
  return taken;
}

void Collections::remove_client(ClientId client) {
  const std::set<WaitList::Id> waiting = waits_.of_client(client);
  for (const WaitList::Id id : waiting)
    remove(id);
}

Collections::Due Collections::remove(WaitList::Id id) {
  Wait wait = waits_.remove(id);
  const auto at = collections_.find(wait.key);
  Goal goal = at->second.goal;
  if (waits_.for_key(wait.key).empty()) collections_.erase(at);
  return {std::move(goal), std::move(wait)};
}

}  // namespace dt
