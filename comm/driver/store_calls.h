#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/collective/operation.h"
#include "rendezvous/store/store_port.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The prefix of the keys by which ranks make groups.
inline constexpr std::string_view group_key_prefix = "groups/";

/// A request to the job's store for which a thread waits.
struct StoreCall {
  std::string awaited_key = {};  ///< as the program names it; empty: it waits for no key
  std::optional<Result<Reply>> answer = {};
  std::optional<uint32_t> id = {};  ///< once it is posted

  bool waits_for_key() const { return !awaited_key.empty(); }
};

/// The pending requests to the job's store. No threads, no waiting.
///
/// Requests run one at a time, beside the waits for keys. Replies to waits have no value. So the
/// bytes under way do not grow with the number of a rank's threads.
class StoreCalls {
 public:
  explicit StoreCalls(StorePort& port) : port_(port) {}

  bool empty() const { return calls_.empty(); }
  /// True when a request other than a wait is pending.
  bool busy() const;
  /// The keys for which threads wait.
  std::vector<std::string> awaited_keys() const;
  size_t waits() const;
  /// Posts the request, or sets an error as its answer. The caller must remove() the call before it
  /// is destroyed.
  void post(StoreCall& call, const Request& request, Time now);
  void remove(StoreCall& call);
  /// Sets the replies that have arrived as the answers of their calls.
  void collect();
  /// Fails all waits, now and later: the rank that would set the key may be dead.
  void fail_waits(const OperationFailure& why);
  /// Fails all calls, now and later. Throws nothing.
  void fail_all(OperationFailure why);

 private:
  StorePort& port_;
  std::vector<StoreCall*> calls_;
  std::optional<OperationFailure> wait_failure_;
  std::optional<OperationFailure> failure_;
};

}  // namespace dt
