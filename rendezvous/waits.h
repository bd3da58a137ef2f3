#pragma once

#include "base/clock.h"
#include "rendezvous/membership.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A request that cannot be answered yet.
struct Wait {
  /// What it waits for: a key, the others at a barrier, or a task that has not joined.
  enum class Kind : uint8_t { key, barrier, member };
  Kind kind = Kind::key;
  std::string name;  ///< of the key, the barrier, or the task
  ClientId client = 0;
  uint32_t request = 0;
  Time deadline;
  int count = 0;              ///< barrier: how many it needs
  std::vector<TaskId> tasks;  ///< member: all that were asked for
  size_t next_task = 0;       ///< member: those before this one had joined
};

/// The waits of all clients, found by name, by client and by deadline.
class WaitList {
 public:
  using Id = uint64_t;

  Id add(Wait wait);
  /// Takes the wait out.
  Wait remove(Id id);
  const Wait& at(Id id) const { return waits_.at(id); }
  /// In the order in which they were added; valid until the list changes.
  const std::set<Id>& named(Wait::Kind kind, std::string_view name) const;
  const std::set<Id>& of_client(ClientId client) const;
  std::vector<Id> of_kind(Wait::Kind kind) const;
  std::vector<Id> due(Time now) const;
  void postpone(Duration by);
  /// The first deadline, or Time::max().
  Time next_deadline() const;

 private:
  using Name = std::pair<Wait::Kind, std::string>;
  Id next_id_ = 1;
  std::map<Id, Wait> waits_;
  std::map<Name, std::set<Id>> by_name_;
  std::map<ClientId, std::set<Id>> by_client_;
  std::set<std::pair<Time, Id>> by_deadline_;
};

}  // namespace dt
