#pragma once

#include "comm/memory/shared_area.h"
#include "comm/shared/block_transfer.h"
#include "comm/shared/write_speed.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dt {

/// Moves this member through the blocks of one BlockTransfer after the other. A member sends a
/// block when its slot is free, and reduces it when all have sent it. It receives the block when
/// the members that it reads have it. A member waits for no other reason. One that only sends is
/// done when its last block lies in a slot.
///
/// Requires that all members start the same transfers, each when they have all ended the last or
/// aborted it.
class BlockPipeline {
 public:
  explicit BlockPipeline(const SharedArea& area) : area_(area) {}

  /// `begin` is the number of the first block: equal on all members, and not below end() of any.
  /// Requires that `transfer` lives until done() or the last step().
  void start(BlockTransfer& transfer, uint64_t begin);
  /// Moves what can move without waiting, but not much more than `bytes_max`; true if anything
  /// moved. Requires start().
  bool step(size_t bytes_max);
  bool done() const { return position_.received == position_.end; }
  /// The number behind the last block.
  uint64_t end() const { return position_.end; }
  /// Counts blocks that were not moved by a BlockTransfer as done on all members.
  void skip_to(uint64_t end);
  /// Returns a number that grows with each phase of a block.
  uint64_t moved() const { return position_.sent + position_.reduced + position_.received; }
  /// Returns a member without which no block can move; -1 if there is none.
  int waits_for() const;

 private:
  /// The position of this member, in blocks.
  struct Position {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t sent = 0;
    uint64_t reduced = 0;
    uint64_t received = 0;
  };
  using Counter = std::atomic<uint64_t> Progress::*;
  /// Other members, by the slots that they and this one read in the last phase.
  enum class Others : uint8_t { all, read_here, reading_this };

  size_t move_block();
  size_t send_block();
  size_t reduce_block();
  size_t receive_block();
  int blocks_send() const;
  int blocks_reduce() const;
  int blocks_receive() const;
  bool includes(Others others, int member) const;
  int behind(Counter counter, uint64_t block, Others others) const;
  int holds_slot(Counter counter, uint64_t block, Others readers) const;
  BlockTransfer::Block block(uint64_t number) const {
    return {number - position_.begin, number, speed_.slow()};
  }

  const SharedArea& area_;
  BlockTransfer* transfer_ = nullptr;
  Position position_;
  WriteSpeed speed_;
};

}  // namespace dt
