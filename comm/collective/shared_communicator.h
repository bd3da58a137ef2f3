#pragma once

#include "comm/collective/communicator.h"
#include "comm/shared/block_transfer.h"
#include "comm/shared/direct_transfer.h"
#include "comm/shared/exchange_transfer.h"
#include "comm/shared/mailbox_transfer.h"
#include "comm/transport/shared_area.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dt {

/// Runs collectives through the memory of one host. Every member announces its call in a mailbox,
/// then waits for the calls of all others. So all members know a difference between the calls
/// before any data moves, and no frame is sent.
///
/// Small inputs lie in the mailboxes, see MailboxTransfer. Large ones pass through slots in blocks,
/// see BlockTransfer, or are read in the host's heap, see DirectTransfer. For a kind that it does
/// not play, it compares the calls only.
class SharedCommunicator final : public Communicator {
 public:
  /// `ranks` has the rank of each member of the area.
  SharedCommunicator(std::shared_ptr<SharedArea> area, std::vector<int> ranks);

  static bool plays(OperationKind kind) { return MailboxTransfer::plays(kind); }

  bool compares_calls() const override { return true; }
  void start(const OperationRequest& request, uint64_t sequence, CallLimit limit,
             Time now) override;
  bool step(Time now) override;
  State state() const override { return state_; }
  int waits_for() const override;
  bool needs(int rank) const override;
  std::vector<int> missing() const override;
  bool any_missing() const override { return state_ == State::running && waiting_ > 0; }
  uint64_t progress() const override {
    return position_.sent + position_.reduced + position_.received -
           static_cast<uint64_t>(waiting_);
  }
  CallLimit first_limit() const override { return first_limit_; }
  void cancel() override;

 private:
  /// The position of this member in the blocks of the running operation.
  struct Position {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t sent = 0;
    uint64_t reduced = 0;
    uint64_t received = 0;
  };
  using Counter = std::atomic<uint64_t> Progress::*;

  bool await_calls(Time now);
  void note_call(int member, const Mailbox& call, Time now);
  void begin();
  BlockTransfer& transfer_of(OperationKind kind);
  bool step_blocks();
  bool step_direct();
  size_t move_block();
  size_t send_block();
  size_t reduce_block();
  size_t receive_block();
  bool all_beyond(Counter counter, uint64_t block, int* behind = nullptr) const;
  bool slot_is_free(Counter counter, uint64_t block) const;
  BlockTransfer::Block block(uint64_t slot) const { return {slot - position_.begin, slot}; }

  std::shared_ptr<SharedArea> area_;
  std::vector<int> ranks_;
  const OperationRequest* request_ = nullptr;
  State state_ = State::idle;
  uint64_t round_ = 0;
  uint64_t call_hash_ = 0;
  CallLimit first_limit_;
  std::vector<bool> called_;  ///< by member
  int waiting_ = 0;           ///< members that have not made the call
  bool small_ = false;        ///< the running operation needs mailboxes only
  MailboxTransfer mailbox_transfer_;
  ReduceTransfer reduce_transfer_;
  CopyTransfer copy_transfer_;
  ExchangeTransfer exchange_transfer_;
  DirectTransfer direct_transfer_;
  BlockTransfer* transfer_ = nullptr;  ///< of the running operation; null while calls are missing
  Position position_;
};

}  // namespace dt
