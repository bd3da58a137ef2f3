#pragma once

#include "rendezvous/store/store.h"
#include "rendezvous/store/store_port.h"

#include <map>
#include <set>

namespace dt {

/// The store of a task that is alone, in its own memory: a Store with one client.
class LocalStore final : public StorePort {
 public:
  explicit LocalStore(StoreLimits limits = {});

  Result<uint32_t> post(const Request& request, Time now) override;
  std::optional<Reply> take_reply(uint32_t id) override;
  void forget(uint32_t id) override;

  /// Replies to the waits whose deadline has passed.
  void expire(Time now);
  Time next_deadline() const { return store_.next_deadline(); }

 private:
  void collect();

  Store store_;
  uint32_t last_request_ = 0;
  std::set<uint32_t> asked_;  ///< requests without a reply so far
  std::map<uint32_t, Reply> replies_;
};

}  // namespace dt
