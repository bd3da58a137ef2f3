#pragma once

#include "comm/collective/descriptor.h"
#include "comm/collective/group_peers.h"
#include "comm/collective/operation.h"
#include "comm/collective/reduce.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt {

/// A call that was decided without this rank. A stand-in, with memory of its own, has run it with a
/// contribution that changes no result.
struct LateCall {
  uint64_t name = 0;                              ///< its hash
  std::shared_ptr<Operation> stand_in = nullptr;  ///< null when the call has failed for all
  Descriptor call = {};                           ///< as the others have made it
  std::vector<int> participants = {};             ///< ranks of the group
  std::optional<OperationFailure> failure = {};
  std::shared_ptr<Operation> user = nullptr;  ///< this rank's own call, if it is there
};

/// This rank's steps that were decided without it. Keeps their results until its own calls come,
/// and its late contributions until its next ones.
///
///   run ─ end, with a call ▶ deliver
///          └─ without one ▶ kept ─ claim ▶ deliver
class LateSteps {
 public:
  struct Counts {
    uint64_t steps = 0;    ///< calls of lists with a quorum that have ended here
    uint64_t late = 0;     ///< of these: without this rank's contribution
    uint64_t carried = 0;  ///< late contributions that were kept for a later one
  };

  /// A stand-in runs in a bucket.
  void run(LateCall late) { running_.push_back(std::move(late)); }
  /// Called when a member of a bucket has ended. Returns the late call if that was its stand-in,
  /// and this rank's own call is there. Keeps the result otherwise.
  std::optional<LateCall> end(const Operation& member);
  /// Keeps a result for this rank's call.
  void keep(LateCall late) { kept_[late.name].push_back(std::move(late)); }
  enum class Claim : uint8_t { none, delivered, running };
  /// Takes a call of this rank, if it was decided without it. The call has ended, or ends by end().
  Claim claim(const std::shared_ptr<Operation>& call, const GroupPeers& peers);
  /// Ends this rank's call with the result of the others, and carries its contribution if that is
  /// wanted.
  void deliver(LateCall late, const GroupPeers& peers);
  /// Adds the carried contributions to this one. Returns the memory of the sum, which is the input
  /// from then on; null if none was carried.
  std::shared_ptr<std::byte[]> add_carried(OperationRequest& request);
  /// Called before a call with a quorum succeeds. `late` without this rank's contribution.
  void note_end(const Operation& call, bool late);
  /// Fails this rank's calls whose stand-ins run.
  void fail_running(const OperationFailure& why);

  const Counts& counts() const { return counts_; }
  size_t entries() const;

 private:
  /// Late contributions to one tensor.
  struct Carried {
    Reduction reduction;
    size_t count = 0;
    std::shared_ptr<std::byte[]> memory;

    bool fits(const OperationRequest& request) const {
      return count == request.count && reduction.type == request.type &&
             reduction.op == request.reduce;
    }
  };

  LateCall take(uint64_t name);
  void carry(const OperationRequest& request);

  std::deque<LateCall> running_;
  std::unordered_map<uint64_t, std::deque<LateCall>> kept_;
  std::unordered_map<uint64_t, Carried> carried_;  ///< by name
  Counts counts_;
};

/// Notes the ranks whose contributions a list has, in its result.
void note_participants(Operation& part, const std::vector<int>& participants);

}  // namespace dt
