#include "comm/shared/block_transfer.h"

#include "base/kernels/copy.h"
#include "base/kernels/cpu.h"
#include "comm/shared/ceil_div.h"
#include "comm/shared/lanes.h"

#include <algorithm>
#include <bit>

namespace dt {

namespace {

/// Chunks of so many bytes start on their own cache lines.
constexpr size_t chunk_alignment = 64;
constexpr size_t chunk_bytes_min = size_t{4} << 10;
/// Large operations are cut into at least this many blocks, so that members copy one block while
/// the others reduce another.
constexpr size_t blocks_wanted = 4;

void write_slot(std::byte* slot, const std::byte* from, size_t bytes, bool past_caches) {
  (past_caches ? copy_past_caches : copy_array)(slot, from, bytes);
}

/// Returns the bytes of a block's piece of `bytes`, of which a slot holds `bytes_max`.
size_t piece_bytes(size_t bytes, size_t bytes_max) {
  const size_t wanted = ceil_div(ceil_div(bytes, blocks_wanted), chunk_alignment) * chunk_alignment;
  return std::clamp(wanted, std::min(chunk_bytes_min, bytes_max), bytes_max);
}

}  // namespace

ReduceTransfer::ReduceTransfer(const SharedArea& area) : area_(area) {
  sources_.resize(static_cast<size_t>(area.members()));
}

void ReduceTransfer::start(const OperationRequest& request) {
  request_ = &request;
  element_bytes_ = element_bytes(request.type);
  const auto members = static_cast<size_t>(area_.members());
  // The elements that each member reduces.
  const size_t part = scatters() ? part_elements_max(request) : ceil_div(request.count, members);
  // An input slot holds the chunks of all other members, or of those that own a lane.
  const size_t readers = request.lanes == 0 ? members : static_cast<size_t>(request.lanes);
  const size_t others = std::max<size_t>(std::min(members - 1, readers), 1);
  const size_t bytes_max = area_.slot_bytes_max() / others / chunk_alignment * chunk_alignment;
  chunk_elements_ = piece_bytes(part * element_bytes_, bytes_max) / element_bytes_;
  slot_bytes_ = std::bit_ceil(others * chunk_elements_ * element_bytes_);
  blocks_ = ceil_div(part, chunk_elements_);
}

bool ReduceTransfer::reads(int reader, int /*writer*/) const {
  return gets_all(reader);
}

ReduceTransfer::Chunk ReduceTransfer::chunk(uint64_t index, int member) const {
  const auto number = static_cast<size_t>(member);
  if (scatters()) {
    const Range piece = piece_of(part_of(*request_, member), chunk_elements_, index);
    return {piece.begin, piece.count()};
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
  std::byte* slot = input_slot(area_.self(), block);
  size_t bytes = 0;
  for (int member = 0; member < area_.members(); ++member) {
    if (member == area_.self()) continue;
    const Chunk part = chunk(block.index, member);
    write_slot(slot, input(part.begin), part.count * element_bytes_, block.past_caches);
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
        member == self ? input(own.begin)
                       : input_slot(member, block) + place * chunk_elements_ * element_bytes_;
  }
  std::byte* slot = scatters() ? nullptr : result_slot(self, block);
  const bool kept = scatters() || gets_all(self);
  const bool from_0 = scatters() && request_->lanes == 0;
  std::byte* into = kept ? output(from_0 ? block.index * chunk_elements_ : own.begin) : slot;
  // Nobody else reads the result of a scatter, of a root, or of a lone member.
  const bool shown = request_->kind == OperationKind::all_reduce && area_.members() > 1;
  std::byte* also = shown && !block.past_caches ? slot : nullptr;
  const Reducer reducer(request_->type, request_->reduce);
  reducer.reduce_many({into, also}, sources_, own.count, area_.members());
  if (shown && block.past_caches) copy_past_caches(slot, into, bytes);
  return bytes * static_cast<size_t>(area_.members() - 1);
}

size_t ReduceTransfer::receive(Block block) {
  if (!gets_all(area_.self())) return 0;
  size_t bytes = 0;
  for (int member = 0; member < area_.members(); ++member) {
    if (member == area_.self()) continue;
    const Chunk part = chunk(block.index, member);
    copy_array(output(part.begin), result_slot(member, block), part.count * element_bytes_);
    bytes += part.count * element_bytes_;
  }
  return bytes;
}

void CopyTransfer::start(const OperationRequest& request) {
  input_ = static_cast<const std::byte*>(request.input);
  output_ = static_cast<std::byte*>(request.output);
  if (request.result) output_ = request.result->data.get();
  const auto members = static_cast<size_t>(area_.members());
  const size_t readers = layout_.dealt() ? std::max<size_t>(members - 1, 1) : 1;
  const size_t bytes_max = area_.slot_bytes_max() / readers / chunk_alignment * chunk_alignment;
  piece_bytes_ = piece_bytes(layout_.part_bytes_max(), bytes_max);
  slot_bytes_ = std::bit_ceil(readers * piece_bytes_);
  blocks_ = ceil_div(layout_.part_bytes_max(), piece_bytes_);
}

Part CopyTransfer::piece(const Part& part, uint64_t index) const {
  const size_t begin = std::min(index * piece_bytes_, part.bytes);
  return {part.begin + begin, std::min(piece_bytes_, part.bytes - begin)};
}

std::byte* CopyTransfer::place(int writer, int reader, Block block) const {
  std::byte* begin = area_.slot(writer, block.number, slot_bytes_);
  if (!layout_.dealt()) return begin;
  // There is no piece for the writer itself.
  return begin + static_cast<size_t>(reader < writer ? reader : reader - 1) * piece_bytes_;
}

size_t CopyTransfer::send(Block block) {
  const int self = area_.self();
  size_t bytes = copy_own(block.index);
  for (int reader = 0; reader < area_.members(); ++reader) {
    const Part part = piece(layout_.sent(reader), block.index);
    if (reader == self || part.bytes == 0) continue;
    write_slot(place(self, reader, block), input_ + part.begin, part.bytes, block.past_caches);
    bytes += part.bytes;
    if (!layout_.dealt()) break;  // the others read the same piece
  }
  return bytes;
}

/// Copies what this member gives itself.
size_t CopyTransfer::copy_own(uint64_t index) {
  const int self = area_.self();
  const Part from = piece(layout_.sent(self), index);
  // The root of a broadcast or scatter needs no output: its own elements stay where they are.
  if (from.bytes == 0 || output_ == nullptr) return 0;
  copy_array(output_ + piece(layout_.received(self), index).begin, input_ + from.begin, from.bytes);
  return from.bytes;
}

size_t CopyTransfer::receive(Block block) {
  const int self = area_.self();
  size_t bytes = 0;
  for (int writer = 0; writer < area_.members(); ++writer) {
    const Part part = piece(layout_.received(writer), block.index);
    if (writer == self || part.bytes == 0) continue;
    copy_array(output_ + part.begin, place(writer, self, block), part.bytes);
    bytes += part.bytes;
  }
  return bytes;
}

}  // namespace dt
