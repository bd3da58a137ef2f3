#pragma once

#include "base/clock.h"
#include "rendezvous/store/membership.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// A client's wait for a key that does not exist yet.
struct Wait {
  std::string key;
  ClientId client = 0;
  uint32_t request = 0;
  Time deadline;
};

/// The waits of all clients, found by key, by client and by deadline.
class WaitList {
 public:
  using Id = uint64_t;

  Id add(Wait wait);
  /// Removes and returns the wait.
  Wait remove(Id id);
  /// Returns waits in the order of add(); valid until the list changes.
  const std::set<Id>& for_key(const std::string& key) const;
  const std::set<Id>& of_client(ClientId client) const;
  std::vector<Id> due(Time now) const;
  void postpone(Duration by);
  /// Returns the first deadline, or Time::max().
  Time next_deadline() const;

 private:
  Id next_id_ = 1;
  std::map<Id, Wait> waits_;
  std::map<std::string, std::set<Id>> by_key_;
  std::map<ClientId, std::set<Id>> by_client_;
  std::set<std::pair<Time, Id>> by_deadline_;
};

}  // namespace dt
