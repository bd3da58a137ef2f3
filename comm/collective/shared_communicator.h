#pragma once

#include "comm/collective/communicator.h"
#include "comm/memory/shared_area.h"
#include "comm/shared/block_pipeline.h"
#include "comm/shared/block_transfer.h"
#include "comm/shared/direct_transfer.h"
#include "comm/shared/mailbox_transfer.h"
#include "comm/shared/part_layout.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dt {

/// Runs collectives through the memory of one host. Every member announces its call in a mailbox,
/// then waits for the calls of all others. So all members know a difference between the calls
/// before any data moves, and no frame is sent.
///
/// Small inputs lie in the mailboxes, see MailboxTransfer. Large ones pass through slots in blocks,
/// see BlockTransfer, or are read in the host's heap, see DirectTransfer. Members with counts of
/// their own announce these in the mailboxes. It compares only the calls of a kind that it does not
/// run.
class SharedCommunicator final : public Communicator {
 public:
  /// `ranks` has the rank of each member of the area.
  SharedCommunicator(std::shared_ptr<SharedArea> area, std::vector<int> ranks);

  static bool runs(OperationKind kind, int members) { return MailboxTransfer::runs(kind, members); }
  static bool runs(const OperationRequest& request, int members) {
    return request.reduce != ReduceOp::adasum && runs(request.kind, members);
  }

  void start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
             Time now) override;
  /// Starts one phase of a larger collective. `hash` is that of its call.
  void start_phase(const OperationRequest& request, MailboxRound round, uint64_t hash) {
    announce(request, round, hash, {});
  }
  bool step(Time now) override;
  State state() const override { return state_; }
  int waits_for() const override;
  bool needs(int rank) const override;
  std::vector<int> missing() const override;
  bool any_missing() const override { return state_ == State::running && waiting_ > 0; }
  uint64_t progress() const override { return blocks_.moved() - static_cast<uint64_t>(waiting_); }
  CallLimit first_limit() const override { return first_limit_; }
  void cancel() override;

 private:
  void announce(const OperationRequest& request, MailboxRound round, uint64_t hash,
                const CallLimit& limit);
  void announce_large(Mailbox& own) const;
  bool await_calls(Time now);
  void wake_others();
  void note_call(int member, const Mailbox& call, Time now);
  void begin();
  void begin_blocks(uint64_t first);
  uint64_t first_block() const;
  bool step_blocks();
  bool step_direct();
  bool runs_request() const { return runs(*request_, area_->members()); }
  int rank_of(int member) const { return member < 0 ? -1 : ranks_[static_cast<size_t>(member)]; }

  std::shared_ptr<SharedArea> area_;
  std::vector<int> ranks_;
  const OperationRequest* request_ = nullptr;
  State state_ = State::idle;
  bool must_wake_ = false;  ///< the others do not know of this member's call
  MailboxRound round_ = {};
  uint64_t call_hash_ = 0;
  CallLimit first_limit_;
  std::vector<bool> called_;  ///< by member
  int waiting_ = 0;           ///< members that have not made the call
  PartLayout layout_;
  MailboxTransfer mailbox_transfer_;
  /// The bytes of the last small inputs but one, and of the last. Often the next is like the
  /// former, because programs repeat their calls.
  std::array<size_t, 2> small_inputs_ = {};
  ReduceTransfer reduce_transfer_;
  CopyTransfer copy_transfer_;
  DirectTransfer direct_transfer_;
  BlockPipeline blocks_;
  bool in_blocks_ = false;  ///< the running operation moves in blocks
};

}  // namespace dt
