#include "comm/shared/block_pipeline.h"

namespace dt {

void BlockPipeline::start(BlockTransfer& transfer, uint64_t begin) {
  transfer_ = &transfer;
  position_ = {.begin = begin,
               .end = begin + transfer.blocks(),
               .sent = begin,
               .reduced = begin,
               .received = begin};
}

void BlockPipeline::skip_to(uint64_t end) {
  position_ = {.begin = end, .end = end, .sent = end, .reduced = end, .received = end};
}

bool BlockPipeline::step(size_t bytes_max) {
  size_t bytes = 0;
  bool any = false;
  while (!done() && bytes < bytes_max) {
    const uint64_t before = moved();
    bytes += move_block();
    if (moved() == before) break;
    any = true;
  }
  return any;
}

/// Moves one block by one phase. The last phase comes first: it frees slots.
size_t BlockPipeline::move_block() {
  const Position& at = position_;
  if (at.received < at.reduced && blocks_receive() < 0) return receive_block();
  if (at.reduced < at.sent && blocks_reduce() < 0) return reduce_block();
  if (at.sent < at.end && blocks_send() < 0) return send_block();
  return 0;
}

size_t BlockPipeline::send_block() {
  const bool measured = area_.clock() != nullptr && speed_.due();
  const Time begin = measured ? area_.clock()() : Time();
  const size_t bytes = transfer_->send(block(position_.sent));
  if (measured) speed_.add(bytes, area_.clock()() - begin);
  area_.publish(area_.progress(area_.self()).sent, ++position_.sent);
  return bytes;
}

size_t BlockPipeline::reduce_block() {
  const size_t bytes = transfer_->reduce(block(position_.reduced));
  ++position_.reduced;
  if (transfer_->reduces()) area_.publish(area_.progress(area_.self()).reduced, position_.reduced);
  return bytes;
}

size_t BlockPipeline::receive_block() {
  const size_t bytes = transfer_->receive(block(position_.received));
  area_.publish(area_.progress(area_.self()).received, ++position_.received);
  return bytes;
}

// Each of these returns a member for which the next block of a phase waits; -1 if there is none.

int BlockPipeline::blocks_receive() const {
  const Counter ready = transfer_->reduces() ? &Progress::reduced : &Progress::sent;
  return behind(ready, position_.received, Others::read_here);
}

int BlockPipeline::blocks_reduce() const {
  if (!transfer_->reduces()) return -1;
  const int member = behind(&Progress::sent, position_.reduced, Others::all);
  if (member >= 0) return member;
  return holds_slot(&Progress::received, position_.reduced, Others::reading_this);
}

int BlockPipeline::blocks_send() const {
  return transfer_->reduces()
             ? holds_slot(&Progress::reduced, position_.sent, Others::all)
             : holds_slot(&Progress::received, position_.sent, Others::reading_this);
}

int BlockPipeline::waits_for() const {
  const Position& at = position_;
  int member = at.received < at.reduced ? blocks_receive() : -1;
  if (member < 0 && at.reduced < at.sent) member = blocks_reduce();
  if (member < 0 && at.sent < at.end) member = blocks_send();
  return member;
}

bool BlockPipeline::includes(Others others, int member) const {
  const int self = area_.self();
  if (member == self) return false;
  if (others == Others::read_here) return transfer_->reads(self, member);
  return others == Others::all || transfer_->reads(member, self);
}

/// Returns one of the others that has not published more than `block` blocks; -1 if there is none.
int BlockPipeline::behind(Counter counter, uint64_t block, Others others) const {
  for (int member = 0; member < area_.members(); ++member)
    if (includes(others, member) &&
        (area_.progress(member).*counter).load(std::memory_order_acquire) <= block)
      return member;
  return -1;
}

/// Returns a reader of the block that used this block's slot before, which is not done with it.
int BlockPipeline::holds_slot(Counter counter, uint64_t block, Others readers) const {
  const uint64_t depth = transfer_->depth();
  if (block < position_.begin + depth) return -1;
  return behind(counter, block - depth, readers);
}

}  // namespace dt
