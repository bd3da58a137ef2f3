#include "comm/shared/exchange_transfer.h"

#include "comm/shared/ceil_div.h"
#include "comm/shared/copy_bytes.h"

#include <algorithm>

namespace dt {

void ExchangeTransfer::start(const OperationRequest& request) {
  request_ = &request;
  part_bytes_ = request.count * element_bytes(request.type);
  const auto others = static_cast<size_t>(std::max(area_.members() - 1, 1));
  chunk_bytes_max_ = area_.slot_bytes() / others / chunk_alignment * chunk_alignment;
  blocks_ = ceil_div(part_bytes_, chunk_bytes_max_);
}

size_t ExchangeTransfer::chunk_bytes(uint64_t index) const {
  return std::min(chunk_bytes_max_, part_bytes_ - index * chunk_bytes_max_);
}

/// Returns where the part of that member goes.
std::byte* ExchangeTransfer::output_from(int member) const {
  auto* output = static_cast<std::byte*>(request_->output);
  if (request_->kind == OperationKind::scatter) return output;
  return output + static_cast<size_t>(member) * part_bytes_;
}

/// Copies this member's own chunk as well. Input and output may be one buffer: receive() then
/// overwrites the chunks of a block after they were sent.
size_t ExchangeTransfer::send(Block block) {
  const int self = area_.self();
  if (!gives(self)) return 0;
  const size_t begin = block.index * chunk_bytes_max_;
  const size_t bytes = chunk_bytes(block.index);
  const auto* input = static_cast<const std::byte*>(request_->input) + begin;
  std::byte* slot = area_.input_slot(self, block.slot);
  for (int member = 0; member < area_.members(); ++member) {
    const std::byte* part = input + static_cast<size_t>(member) * part_bytes_;
    if (member != self) {
      copy_bytes(slot, part, bytes);
      slot += chunk_bytes_max_;
    } else if (request_->output != nullptr) {  // the root of a scatter may have none
      copy_bytes(output_from(self) + begin, part, bytes);
    }
  }
  return bytes * static_cast<size_t>(area_.members());
}

size_t ExchangeTransfer::receive(Block block) {
  const int self = area_.self();
  const size_t begin = block.index * chunk_bytes_max_;
  const size_t bytes = chunk_bytes(block.index);
  size_t moved = 0;
  for (int member = 0; member < area_.members(); ++member) {
    if (member == self || !gives(member)) continue;
    // A member's slot has no chunk for the member itself.
    const auto place = static_cast<size_t>(self < member ? self : self - 1);
    copy_bytes(output_from(member) + begin,
               area_.input_slot(member, block.slot) + place * chunk_bytes_max_, bytes);
    moved += bytes;
  }
  return moved;
}

}  // namespace dt
