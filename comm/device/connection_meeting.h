#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/device/connection_offer.h"
#include "comm/device/rank_store.h"
#include "gpu/nccl/nccl_types.h"

#include <functional>
#include <utility>

namespace dt {

/// Returns a key of this communicator. A later context of the same generation has another id.
std::string key_of(std::string_view what, const NcclUniqueId& id);

/// Where the ranks decide, through the job's store, about a step of their connection. Rank 0
/// collects the offers of all, and its verdict is that of all.
class ConnectionMeeting {
 public:
  ConnectionMeeting(CallingRank self, RankStore store) : self_(self), store_(std::move(store)) {}

  /// Gives rank 0 this rank's offer, and returns rank 0's verdict. Where NCCL can connect all, rank
  /// 0 calls `make_id` for the verdict's id, if it is given. Waits for all ranks. Fails as the
  /// store, and with Errc::protocol for bytes that no rank sends.
  Result<ConnectionVerdict> decide(const char* step, const ConnectionOffer& own,
                                   const std::function<Result<NcclUniqueId>()>& make_id = {}) const;

  /// Tells the others that this rank has not joined the communicator of this id. NCCL may wait for
  /// it at the others.
  void report_failure(const NcclUniqueId& id) const;
  /// True when some rank has reported that. Asks the store.
  bool has_failed(const NcclUniqueId& id) const;
  /// Returns a check that fails as `check` does, and soon after such a report. Not longer valid
  /// than this object.
  std::function<Result<>()> with_failures(const NcclUniqueId& id,
                                          std::function<Result<>()> check) const;

  /// Tells the others that this rank leaves, and whether it has closed their memory. Returns
  /// whether all have. Rank 0 notes that under the key. Fails when one does not leave in time.
  Result<bool> leave(const std::string& key, bool closed, Time deadline) const;

 private:
  Result<ConnectionVerdict> collect(const char* step, const ConnectionOffer& own,
                                    const std::function<Result<NcclUniqueId>()>& make_id) const;

  CallingRank self_;
  RankStore store_;
};

}  // namespace dt
