#include "rendezvous/store/wait_list.h"

#include <utility>

namespace dt {

namespace {

template <class Index, class Key>
const std::set<WaitList::Id>& ids_at(const Index& index, const Key& key) {
  static const std::set<WaitList::Id> none;
  const auto at = index.find(key);
  return at == index.end() ? none : at->second;
}

template <class Index, class Key>
void erase_at(Index& index, const Key& key, WaitList::Id id) {
  const auto at = index.find(key);
  at->second.erase(id);
  if (at->second.empty()) index.erase(at);
}

}  // namespace

WaitList::Id WaitList::add(Wait wait) {
  const Id id = next_id_++;
  by_key_[wait.key].insert(id);
  by_client_[wait.client].insert(id);
  by_deadline_.emplace(wait.deadline, id);
  waits_.emplace(id, std::move(wait));
  return id;
}

Wait WaitList::remove(Id id) {
  Wait wait = std::move(waits_.extract(id).mapped());
  erase_at(by_key_, wait.key, id);
  erase_at(by_client_, wait.client, id);
  by_deadline_.erase({wait.deadline, id});
  return wait;
}

const std::set<WaitList::Id>& WaitList::for_key(const std::string& key) const {
  return ids_at(by_key_, key);
}

const std::set<WaitList::Id>& WaitList::of_client(ClientId client) const {
  return ids_at(by_client_, client);
}

std::vector<WaitList::Id> WaitList::due(Time now) const {
  std::vector<Id> ids;
  for (const auto& [deadline, id] : by_deadline_) {
    if (deadline > now) break;
    ids.push_back(id);
  }
  return ids;
}

void WaitList::postpone(Duration by) {
  by_deadline_.clear();
  for (auto& [id, wait] : waits_) {
    wait.deadline += by;
    by_deadline_.emplace(wait.deadline, id);
  }
}

Time WaitList::next_deadline() const {
  return by_deadline_.empty() ? Time::max() : by_deadline_.begin()->first;
}

}  // namespace dt
