#pragma once

#include "base/kernels/reducer.h"
#include "comm/memory/shared_area.h"
#include "comm/schedule/operation_request.h"
#include "comm/shared/part_layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// One large collective among the members of a SharedArea, cut into blocks that fit into the slots.
/// Every function moves one block by one phase. It returns the bytes that it copied to slots, or
/// read from those of others.
///
///     send      copies this member's input to its input slot
///     reduce    reads the others' input slots, and writes this member's part of the result
///     receive   copies what this member still needs out of the others' slots
///
/// A member only writes into its own slots and its own user's buffers. So an aborted operation
/// leaves no other member with a pointer into them.
class BlockTransfer {
 public:
  virtual ~BlockTransfer() = default;
  /// The number of blocks; equal on all members.
  virtual uint64_t blocks() const = 0;
  /// How many blocks lie in a member's slots at once; equal on all members.
  virtual uint64_t depth() const = 0;
  /// True when receive() reads results instead of inputs.
  virtual bool reduces() const = 0;
  /// True when receive() on `reader` reads slots of the other member `writer`.
  virtual bool reads(int reader, int writer) const = 0;
  /// `index` is the block's number within this operation, `number` that within the group.
  struct Block {
    uint64_t index = 0;
    uint64_t number = 0;
    bool past_caches =
        false;  ///< write slots so: their readers do not share a cache with this core
  };
  virtual size_t send(Block block) = 0;
  virtual size_t reduce(Block block) = 0;
  virtual size_t receive(Block block) = 0;
};

/// all_reduce, reduce_scatter and reduce. Each member reduces one chunk of every block, in the
/// order of the members. So the result has the same bits everywhere.
class ReduceTransfer final : public BlockTransfer {
 public:
  explicit ReduceTransfer(const SharedArea& area);
  /// Requires that `request` lives until the end of the operation.
  void start(const OperationRequest& request);

  uint64_t blocks() const override { return blocks_; }
  uint64_t depth() const override { return area_.slots(slot_bytes_) / slots_per_block(); }
  bool reduces() const override { return true; }
  bool reads(int reader, int writer) const override;
  size_t send(Block block) override;
  size_t reduce(Block block) override;
  size_t receive(Block block) override;

 private:
  /// Elements [begin, begin + count) of a buffer.
  struct Chunk {
    size_t begin = 0;
    size_t count = 0;
  };
  bool scatters() const { return request_->kind == OperationKind::reduce_scatter; }
  /// One for the input, and one for a result that others read.
  uint64_t slots_per_block() const { return scatters() ? 1 : 2; }
  std::byte* input_slot(int member, Block block) const {
    return area_.slot(member, block.number * slots_per_block(), slot_bytes_);
  }
  std::byte* result_slot(int member, Block block) const {
    return area_.slot(member, block.number * slots_per_block() + 1, slot_bytes_);
  }
  /// True when that member gets the whole result.
  bool gets_all(int member) const {
    return request_->kind == OperationKind::all_reduce ||
           (request_->kind == OperationKind::reduce && request_->peer == member);
  }
  /// The chunk of a block that `member` reduces, in the input.
  Chunk chunk(uint64_t index, int member) const;
  const std::byte* input(size_t element) const;
  std::byte* output(size_t element) const;

  const SharedArea& area_;
  const OperationRequest* request_ = nullptr;
  size_t element_bytes_ = 1;
  size_t chunk_elements_ = 1;  ///< of every member and block but the last
  size_t slot_bytes_ = 1;
  uint64_t blocks_ = 0;
  std::vector<const std::byte*> sources_;
};

/// Collectives that only move data: members copy blocks of other members' parts. An input slot has
/// one piece for all readers, or a piece for each of them.
class CopyTransfer final : public BlockTransfer {
 public:
  /// `layout` is that of the request at each start().
  CopyTransfer(const SharedArea& area, const PartLayout& layout) : area_(area), layout_(layout) {}
  /// Requires that the buffers of `request` live until the end of the operation.
  void start(const OperationRequest& request);

  uint64_t blocks() const override { return blocks_; }
  uint64_t depth() const override { return area_.slots(slot_bytes_); }
  bool reduces() const override { return false; }
  bool reads(int reader, int writer) const override { return layout_.reads(reader, writer); }
  size_t send(Block block) override;
  size_t reduce(Block /*block*/) override { return 0; }
  size_t receive(Block block) override;

 private:
  size_t copy_own(uint64_t index);
  /// The piece of a part that passes in this block.
  Part piece(const Part& part, uint64_t index) const;
  /// The place of the piece for `reader` in a slot of `writer`.
  std::byte* place(int writer, int reader, Block block) const;

  const SharedArea& area_;
  const PartLayout& layout_;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  size_t piece_bytes_ = 1;  ///< the largest
  size_t slot_bytes_ = 1;
  uint64_t blocks_ = 0;
};

}  // namespace dt
