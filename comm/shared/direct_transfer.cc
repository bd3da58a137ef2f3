#include "comm/shared/direct_transfer.h"

#include "base/io/cores.h"
#include "base/kernels/copy.h"
#include "base/kernels/cpu.h"
#include "base/kernels/reducer.h"
#include "comm/shared/ceil_div.h"
#include "comm/shared/lanes.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

namespace dt {

namespace {

using LargeCall = Mailbox::LargeCall;

/// The most bytes of a member's part of a block: its result is still in a cache when others copy
/// it.
constexpr size_t part_bytes_max = size_t{256} << 10;
/// The same for buffers that stay in the caches: fewer parts, and fewer waits.
constexpr size_t cached_part_bytes_max = size_t{1} << 20;
constexpr size_t cached_bytes_max = size_t{4} << 20;
constexpr size_t part_bytes_min = size_t{8} << 10;
/// The bytes of a block that is only copied.
constexpr size_t copied_bytes_max = size_t{256} << 10;
/// A small call is cut into this many blocks, so that members copy one block while others reduce
/// the next.
constexpr size_t blocks_min = 2;
/// Parts begin on their own cache lines.
constexpr size_t part_alignment = 64;

/// From this size on, copies go past the caches. In a larger cache, copies through it take half of
/// the time.
size_t past_caches_bytes() {
  constexpr size_t least = size_t{32} << 20;
  static const size_t bytes = std::max(least, largest_cache_bytes());
  return bytes;
}

bool share_bytes(const void* one, size_t one_bytes, const void* other, size_t other_bytes) {
  const auto a = reinterpret_cast<uintptr_t>(one);
  const auto b = reinterpret_cast<uintptr_t>(other);
  return a < b + other_bytes && b < a + one_bytes;
}

bool has_parts_reduced(OperationKind kind) {
  return kind == OperationKind::all_reduce || kind == OperationKind::reduce_scatter;
}

}  // namespace

DirectTransfer::DirectTransfer(const SharedArea& area) : area_(area) {
  const auto members = static_cast<size_t>(area.members());
  inputs_.resize(members);
  outputs_.resize(members);
  sources_.resize(members);
}

void DirectTransfer::announce(LargeCall& own, const OperationRequest& request) const {
  const SharedHeap* heap = area_.heap();
  if (runs(request.kind) && heap != nullptr && heap->readable()) {
    const size_t bytes_each = element_bytes(request.type);
    const size_t bytes = request.count * bytes_each;
    const bool scatters = request.kind == OperationKind::reduce_scatter;
    const auto members = static_cast<size_t>(area_.members());
    const size_t input_bytes = scatters ? whole_elements(request, members) * bytes_each : bytes;
    own.readable = 1;
    // A scattered result may lie on input that another member still reads, unless it is a lane.
    const bool stays = !scatters || request.lanes > 0 ||
                       !share_bytes(request.input, input_bytes, request.output, bytes);
    if (stays) own.input = heap->place_of(request.input, input_bytes).value_or(LargeCall::none);
    if (request.kind == OperationKind::all_reduce)
      own.output = heap->place_of(request.output, bytes).value_or(LargeCall::none);
  }
}

bool DirectTransfer::start(const OperationRequest& request, MailboxRound round, uint64_t begin) {
  assert(!running());
  if (!runs(request.kind) || area_.heap() == nullptr || area_.members() < 2) return false;
  request_ = &request;
  if (!find_buffers(round)) {
    request_ = nullptr;
    return false;
  }
  round_ = round;
  begin_ = reduced_ = copied_ = begin;
  received_ = intact_ = false;
  cut();
  return true;
}

/// Finds the memory that members read, if all of it is in the heap and all can read it.
bool DirectTransfer::find_buffers(MailboxRound round) {
  const auto members = static_cast<size_t>(area_.members());
  const bool scatters = request_->kind == OperationKind::reduce_scatter;
  const bool shows_results = request_->kind == OperationKind::all_reduce;
  element_bytes_ = element_bytes(request_->type);
  const size_t bytes = request_->count * element_bytes_;
  const size_t whole = whole_elements(*request_, members) * element_bytes_;
  std::ranges::fill(inputs_, nullptr);
  std::ranges::fill(outputs_, nullptr);
  for (size_t member = 0; member < members; ++member) {
    const LargeCall call = area_.mailbox(static_cast<int>(member), round).large();
    if (call.readable != 1) return false;
    if (request_->kind == OperationKind::broadcast && static_cast<int>(member) != request_->peer)
      continue;
    if (call.input == LargeCall::none || (shows_results && call.output == LargeCall::none))
      return false;
    inputs_[member] = area_.heap()->at(call.input, scatters ? whole : bytes);
    if (shows_results) outputs_[member] = area_.heap()->at(call.output, bytes);
    if (inputs_[member] == nullptr || (shows_results && outputs_[member] == nullptr)) return false;
  }
  // The caller's own addresses, so that equal buffers are equal here.
  const auto self = static_cast<size_t>(area_.self());
  if (inputs_[self] != nullptr) inputs_[self] = static_cast<const std::byte*>(request_->input);
  return true;
}

/// Cuts the operation into blocks.
void DirectTransfer::cut() {
  const auto members = static_cast<size_t>(area_.members());
  const size_t bytes = request_->count * element_bytes_;
  const bool reduces = has_parts_reduced(request_->kind);
  const bool splits = request_->kind == OperationKind::all_reduce;
  const size_t elements = splits ? request_->count : part_elements_max(*request_);
  const size_t part = splits ? ceil_div(bytes, members) : elements * element_bytes_;
  const size_t wanted = ceil_div(ceil_div(part, blocks_min), part_alignment) * part_alignment;
  const size_t most = bytes <= cached_bytes_max ? cached_part_bytes_max : part_bytes_max;
  const size_t chosen = std::clamp(wanted, part_bytes_min, most);
  chunk_elements_ = (reduces ? chosen : copied_bytes_max) / element_bytes_;
  const bool gathers = request_->kind == OperationKind::all_gather;
  const size_t copied = gathers ? whole_elements(*request_, members) * element_bytes_ : bytes;
  past_caches_ = copied >= past_caches_bytes();
  end_ = begin_ + ceil_div(elements, chunk_elements_ * (splits ? members : 1));
}

/// The elements of a block in these of a buffer.
DirectTransfer::Chunk DirectTransfer::piece(const Range& of, uint64_t index) const {
  const Range piece = piece_of(of, chunk_elements_, index);
  return {piece.begin, piece.count()};
}

/// Returns the part of a block of an all_reduce that `member` reduces.
DirectTransfer::Chunk DirectTransfer::chunk(uint64_t index, int member) const {
  const auto members = static_cast<size_t>(area_.members());
  const size_t first = index * chunk_elements_ * members;
  const size_t left = std::min(chunk_elements_ * members, request_->count - first);
  // In the last block, the parts are as equal as their alignment permits.
  const size_t line = std::max<size_t>(part_alignment / element_bytes_, 1);
  const size_t each = ceil_div(ceil_div(left, members), line) * line;
  const size_t begin = std::min(static_cast<size_t>(member) * each, left);
  return {first + begin, std::min(each, left - begin)};
}

bool DirectTransfer::step(size_t bytes_max) {
  assert(running());
  bool any = false;
  for (size_t moved = 0; moved < bytes_max;) {
    const uint64_t before = reduced_ + copied_;
    moved += move_block();
    if (reduced_ + copied_ == before) break;
    any = true;
  }
  return any;
}

/// Copies before it reduces, because the results of the other members are still in a cache.
size_t DirectTransfer::move_block() {
  if (!has_parts_reduced(request_->kind)) return copied_ < end_ ? copy_block() : 0;
  if (copied_ < reduced_ && all_reduced(copied_)) return copy_block();
  return reduced_ < end_ ? reduce_block() : 0;
}

size_t DirectTransfer::reduce_block() {
  const int self = area_.self();
  const bool scatters = request_->kind == OperationKind::reduce_scatter;
  const uint64_t index = reduced_ - begin_;
  const Chunk part = scatters ? piece(own_part(*request_, self), index) : chunk(index, self);
  const Chunk from = scatters ? piece(part_of(*request_, self), index) : part;
  if (part.count > 0) {
    for (size_t member = 0; member < sources_.size(); ++member)
      sources_[member] = inputs_[member] + from.begin * element_bytes_;
    const Reducer reducer(request_->type, request_->reduce);
    auto* const output = static_cast<std::byte*>(request_->output);
    reducer.reduce_many({output + part.begin * element_bytes_}, sources_, part.count,
                        area_.members());
  }
  ++reduced_;
  // Nobody reads the result of a scatter.
  if (scatters) {
    copied_ = reduced_;
  } else {
    area_.publish(area_.progress(self).reduced, reduced_);
  }
  return part.count * element_bytes_ * sources_.size();
}

size_t DirectTransfer::copy_block() {
  const auto members = static_cast<size_t>(area_.members());
  const bool gathers = request_->kind == OperationKind::all_gather;
  const uint64_t index = copied_ - begin_;
  size_t bytes = 0;
  for (size_t turn = 0; turn < members; ++turn) {
    // Each member begins with its neighbour, so that they do not all read the same memory.
    const size_t member = (static_cast<size_t>(area_.self()) + 1 + turn) % members;
    if (gathers) {
      const auto writer = static_cast<int>(member);
      const Chunk part = piece(own_part(*request_, writer), index);
      bytes += copy_from(inputs_[member], part, piece(part_of(*request_, writer), index).begin);
    } else if (request_->kind != OperationKind::all_reduce) {
      const Chunk part = piece({0, request_->count}, index);
      bytes += copy_from(inputs_[member], part, part.begin);
    } else if (static_cast<int>(member) != area_.self()) {
      const Chunk part = chunk(index, static_cast<int>(member));
      bytes += copy_from(outputs_[member], part, part.begin);
    }
  }
  ++copied_;
  reduced_ = std::max(reduced_, copied_);
  return bytes;
}

/// Copies a part to element `to` of the output, unless it is there. Without a source or an output,
/// there is nothing to copy.
size_t DirectTransfer::copy_from(const std::byte* from, Chunk part, size_t to) const {
  auto* const output = static_cast<std::byte*>(request_->output);
  if (from == nullptr || output == nullptr || part.count == 0) return 0;
  from += part.begin * element_bytes_;
  std::byte* const into = output + to * element_bytes_;
  const size_t bytes = part.count * element_bytes_;
  if (into == from) return 0;
  if (past_caches_) {
    copy_past_caches(into, from, bytes);
  } else {
    copy_array(into, from, bytes);
  }
  return bytes;
}

bool DirectTransfer::all_reduced(uint64_t block) const {
  for (int member = 0; member < area_.members(); ++member) {
    if (member == area_.self()) continue;
    if (area_.progress(member).reduced.load(std::memory_order_acquire) <= block) return false;
  }
  return true;
}

bool DirectTransfer::reads(int member) const {
  return member != area_.self() &&
         (request_->kind != OperationKind::broadcast || member == request_->peer);
}

bool DirectTransfer::is_read_by(int member) const {
  return member != area_.self() &&
         (request_->kind != OperationKind::broadcast || area_.self() == request_->peer);
}

bool DirectTransfer::aborted(int member) const {
  return area_.progress(member).aborted.load(std::memory_order_seq_cst) == round_.number;
}

bool DirectTransfer::finish() {
  if (!running() || copied_ < end_) return false;
  if (!received_) {
    received_ = true;
    area_.publish(area_.progress(area_.self()).received, end_);
    // The marks are loaded after this store, and so after all that was read. An abort sets its mark
    // before the memory changes.
    intact_ = true;
    for (int member = 0; member < area_.members(); ++member)
      if (reads(member) && aborted(member)) intact_ = false;
  }
  if (!intact_) return false;
  for (int member = 0; member < area_.members(); ++member)
    if (is_read_by(member) && !received(member)) return false;
  request_ = nullptr;
  return true;
}

bool DirectTransfer::received(int member) const {
  return area_.progress(member).received.load(std::memory_order_acquire) >= end_;
}

bool DirectTransfer::needs(int member) const {
  if (!running() || member == area_.self()) return false;
  if (is_read_by(member) && !received(member)) return true;
  if (intact_ || !reads(member)) return false;
  const bool waits = request_->kind == OperationKind::all_reduce &&
                     area_.progress(member).reduced.load(std::memory_order_acquire) < end_;
  return waits || aborted(member);
}

int DirectTransfer::waits_for() const {
  int last = -1;
  for (int member = 0; running() && member < area_.members(); ++member) {
    if (!needs(member)) continue;
    // The cause, where others wait for that member, too.
    if (aborted(member)) return member;
    if (last < 0 || lags(member)) last = member;
  }
  return last;
}

/// True when this member waits for a block that that one reduces.
bool DirectTransfer::lags(int member) const {
  return request_->kind == OperationKind::all_reduce && copied_ < end_ &&
         area_.progress(member).reduced.load(std::memory_order_acquire) <= copied_;
}

void DirectTransfer::cancel(MailboxRound round) {
  request_ = nullptr;
  std::atomic<uint64_t>& mark = area_.progress(area_.self()).aborted;
  mark.store(round.number, std::memory_order_seq_cst);
  // The caller's later stores come after this load, which comes after the mark.
  static_cast<void>(mark.load(std::memory_order_seq_cst));
}

}  // namespace dt
