#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/engine/operation.h"
#include "rendezvous/store/store_port.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// A request to the job's store, and the thread that waits for its answer.
struct StoreCall {
  bool waits_for_key = false;
  std::optional<Result<Reply>> answer = {};
  int blamed_rank = -1;
  std::optional<uint32_t> id = {};  ///< once it is posted
};

/// The requests to the job's store under way. No threads, no waiting.
///
/// Requests run one at a time, beside the waits for keys. Replies to waits have no value, so a rank
/// has few bytes under way, however many threads it has.
class StoreCalls {
 public:
  explicit StoreCalls(StorePort& port) : port_(port) {}

  bool empty() const { return calls_.empty(); }
  /// A request other than a wait is under way.
  bool busy() const;
  /// Posts it, or answers it at once if that cannot be. The caller removes it before it dies.
  void post(StoreCall& call, const Request& request, Time now);
  void remove(StoreCall& call);
  /// Gives the replies that have come to their calls.
  void collect();
  /// Waits fail now and later: the rank that would set the key may be dead.
  void end_waits(const OperationFailure& why);
  /// Everything fails now and later.
  void fail_all(const OperationFailure& why);

 private:
  StorePort& port_;
  std::vector<StoreCall*> calls_;
  std::optional<OperationFailure> waits_over_;
  std::optional<OperationFailure> over_;
};

}  // namespace dt
