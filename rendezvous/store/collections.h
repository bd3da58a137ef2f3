#pragma once

#include "base/clock.h"
#include "rendezvous/store/wait_list.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The requests of all clients that wait until a number of keys with one prefix exist. A new or an
/// erased key costs one step for each different prefix and number, however many clients wait.
class Collections {
 public:
  /// A number of keys with a prefix.
  struct Goal {
    std::string prefix;
    size_t count = 0;
    auto operator<=>(const Goal&) const = default;
  };

  /// `present` is the number of such keys now, which is below the goal. The key of `wait` is not
  /// read.
  void add(const Goal& goal, size_t present, Wait wait);
  /// Returns the goals that this new key completes.
  std::vector<Goal> key_added(std::string_view key);
  void key_erased(std::string_view key);

  /// Removes and returns the requests with this goal.
  std::vector<Wait> take(const Goal& goal);
  struct Due {
    Goal goal;
    Wait wait;
  };
  /// Removes and returns the requests whose deadline has passed.
  std::vector<Due> take_due(Time now);
  void remove_client(ClientId client);

  size_t of_client(ClientId client) const { return waits_.of_client(client).size(); }
  void postpone(Duration by) { waits_.postpone(by); }
  Time next_deadline() const { return waits_.next_deadline(); }

 private:
  struct Collection {
    Goal goal;
    size_t present = 0;
  };
  Due remove(WaitList::Id id);

  std::map<std::string, Collection> collections_;  ///< by the key of their waits
  WaitList waits_;
};

}  // namespace dt
