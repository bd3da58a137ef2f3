#include "comm/shared/block_transfer.h"

#include "comm/shared/ceil_div.h"
#include "comm/shared/copy_bytes.h"

#include <algorithm>

namespace dt {

namespace {

constexpr size_t chunk_bytes_min = size_t{4} << 10;
/// An operation has at least so many blocks where they are not too small: then members copy one
/// block while the others reduce another.
constexpr size_t blocks_wanted = 4;

}  // namespace

ReduceTransfer::ReduceTransfer(const SharedArea& area) : area_(area) {
  sources_.resize(static_cast<size_t>(area.members()));
}

void ReduceTransfer::start(const OperationRequest& request) {
  request_ = &request;
  element_bytes_ = element_bytes(request.type);
  const auto members = static_cast<size_t>(area_.members());
  // The elements that each member reduces.
  const size_t part = scatters() ? request.count : ceil_div(request.count, members);
  // An input slot holds the chunks of all other members.
  const size_t others = std::max<size_t>(members - 1, 1);
  const size_t bytes_max = area_.slot_bytes() / others / chunk_alignment * chunk_alignment;
  const size_t bytes_wanted =
      ceil_div(ceil_div(part * element_bytes_, blocks_wanted), chunk_alignment) * chunk_alignment;
  const size_t bytes_min = std::min(chunk_bytes_min, bytes_max);
  chunk_elements_ = std::clamp(bytes_wanted, bytes_min, bytes_max) / element_bytes_;
  blocks_ = ceil_div(part, chunk_elements_);
}

ReduceTransfer::Chunk ReduceTransfer::chunk(uint64_t index, int member) const {
  const auto number = static_cast<size_t>(member);
  if (scatters()) {
    const size_t begin = index * chunk_elements_;
    return {number * request_->count + begin, std::min(chunk_elements_, request_->count - begin)};
  }
  // The members' chunks of a block are neighbours. In the last block, they are as equal as their
  // alignment permits.
  const auto members = static_cast<size_t>(area_.members());
  const size_t first = index * chunk_elements_ * members;
  const size_t left = std::min(chunk_elements_ * members, request_->count - first);
  const size_t aligned = std::max<size_t>(chunk_alignment / element_bytes_, 1);
  const size_t each = ceil_div(ceil_div(left, members), aligned) * aligned;
  const size_t begin = std::min(number * each, left);
  return {first + begin, std::min(each, left - begin)};
}

const std::byte* ReduceTransfer::input(size_t element) const {
  return static_cast<const std::byte*>(request_->input) + element * element_bytes_;
}

std::byte* ReduceTransfer::output(size_t element) const {
  return static_cast<std::byte*>(request_->output) + element * element_bytes_;
}

size_t ReduceTransfer::send(Block block) {
  std::byte* slot = area_.input_slot(area_.self(), block.slot);
  size_t bytes = 0;
  for (int member = 0; member < area_.members(); ++member) {
    if (member == area_.self()) continue;
    const Chunk part = chunk(block.index, member);
    copy_bytes(slot, input(part.begin), part.count * element_bytes_);
    slot += chunk_elements_ * element_bytes_;
    bytes += part.count * element_bytes_;
  }
  return bytes;
}

size_t ReduceTransfer::reduce(Block block) {
  const int self = area_.self();
  const Chunk own = chunk(block.index, self);
  const size_t bytes = own.count * element_bytes_;
  if (bytes == 0) return 0;
  for (int member = 0; member < area_.members(); ++member) {
    // A member's slot has no chunk for the member itself.
    const auto place = static_cast<size_t>(self < member ? self : self - 1);
    sources_[static_cast<size_t>(member)] =
        member == self
            ? input(own.begin)
            : area_.input_slot(member, block.slot) + place * chunk_elements_ * element_bytes_;
  }
  std::byte* slot = area_.result_slot(self, block.slot);
  const bool kept = scatters() || gets_all();
  std::byte* into = kept ? output(scatters() ? block.index * chunk_elements_ : own.begin) : slot;
  // Nobody else reads the result of a scatter, of a root, or of a lone member.
  const bool shown = request_->kind == OperationKind::all_reduce && area_.members() > 1;
  std::byte* also = shown ? slot : nullptr;
  const Reducer reducer(request_->type, request_->reduce);
  reducer.reduce_many({into, also}, sources_, own.count, area_.members());
  return also == nullptr ? bytes : 2 * bytes;
}

size_t ReduceTransfer::receive(Block block) {
  if (!gets_all()) return 0;
  size_t bytes = 0;
  for (int member = 0; member < area_.members(); ++member) {
    if (member == area_.self()) continue;
    const Chunk part = chunk(block.index, member);
    copy_bytes(output(part.begin), area_.result_slot(member, block.slot),
               part.count * element_bytes_);
    bytes += part.count * element_bytes_;
  }
  return bytes;
}

void CopyTransfer::start(const OperationRequest& request) {
  request_ = &request;
  bytes_ = request.count * element_bytes(request.type);
  blocks_ = ceil_div(bytes_, area_.slot_bytes());
}

size_t CopyTransfer::block_bytes(uint64_t index) const {
  return std::min(area_.slot_bytes(), bytes_ - index * area_.slot_bytes());
}

bool CopyTransfer::gets() const {
  return request_->kind != OperationKind::gather || request_->peer == area_.self();
}

size_t CopyTransfer::send(Block block) {
  if (!gives(area_.self())) return 0;
  const size_t begin = block.index * area_.slot_bytes();
  const size_t bytes = block_bytes(block.index);
  const auto* input = static_cast<const std::byte*>(request_->input);
  auto* output = static_cast<std::byte*>(request_->output);
  copy_bytes(area_.input_slot(area_.self(), block.slot), input + begin, bytes);
  // The root of a broadcast needs no output.
  const size_t own = broadcasts() ? 0 : static_cast<size_t>(area_.self()) * bytes_;
  if (gets() && output != nullptr) copy_bytes(output + own + begin, input + begin, bytes);
  return 2 * bytes;
}

size_t CopyTransfer::receive(Block block) {
  if (!gets()) return 0;
  const size_t begin = block.index * area_.slot_bytes();
  const size_t bytes = block_bytes(block.index);
  size_t moved = 0;
  for (int member = 0; member < area_.members(); ++member) {
    if (member == area_.self() || !gives(member)) continue;
    const size_t part = broadcasts() ? 0 : static_cast<size_t>(member) * bytes_;
    copy_bytes(static_cast<std::byte*>(request_->output) + part + begin,
               area_.input_slot(member, block.slot), bytes);
    moved += bytes;
  }
  return moved;
}

}  // namespace dt
