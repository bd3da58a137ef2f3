#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/store/wire.h"

#include <cstdint>
#include <optional>

namespace dt {

/// Requests to a job's store, and their replies by id. Never blocks; for one thread at a time.
class StorePort {
 public:
  virtual ~StorePort() = default;
  /// Queues the request and returns its id.
  virtual Result<uint32_t> post(const Request& request, Time now) = 0;
  /// Returns the reply, once, when it has arrived.
  virtual std::optional<Reply> take_reply(uint32_t id) = 0;
  /// Drops the reply to this request, now or when it arrives.
  virtual void forget(uint32_t id) = 0;
};

}  // namespace dt
