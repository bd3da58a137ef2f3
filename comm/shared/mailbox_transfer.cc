#include "comm/shared/mailbox_transfer.h"

#include "base/kernels/copy.h"
#include "base/kernels/reducer.h"
#include "comm/shared/lanes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dt {

namespace {

/// Each member reads the small inputs of all others: with many members, blocks are faster.
constexpr size_t small_inputs_bytes_max = size_t{64} << 10;
static_assert(alignof(Mailbox) % alignof(size_t) == 0);
/// A core fetches about so many lines at once.
constexpr size_t prefetched_bytes_max = 1024;
constexpr size_t cache_line_bytes = 64;

/// The elements in the input of a member that has one.
size_t input_elements(const OperationRequest& request, size_t members) {
  switch (request.kind) {
    case OperationKind::barrier:
      return 0;
    case OperationKind::all_to_all_v:
      return std::accumulate(request.counts.begin(), request.counts.end(), size_t{0});
    case OperationKind::all_gather:
      return part_elements_max(request);
    case OperationKind::reduce_scatter:
      return whole_elements(request, members);
    case OperationKind::scatter:
    case OperationKind::all_to_all:
      return request.count * members;
    default:
      return request.count;
  }
}

}  // namespace

MailboxTransfer::MailboxTransfer(const SharedArea& area, PartLayout& layout)
    : area_(area),
      layout_(layout),
      small_bytes_max_(std::min(Mailbox::input_bytes_max,
                                small_inputs_bytes_max / static_cast<size_t>(area.members()))),
      sources_(static_cast<size_t>(area.members())),
      counts_(static_cast<size_t>(area.members())) {
}

void MailboxTransfer::start(const OperationRequest& request, MailboxRound round) {
  request_ = &request;
  round_ = round;
  const auto members = static_cast<size_t>(area_.members());
  const bool splits = request.kind == OperationKind::all_to_all_v;
  counts_bytes_ = has_own_counts(request.kind) ? sizeof(size_t) * (splits ? members : 1) : 0;
  input_bytes_ = input_elements(request, members) * element_bytes(request.type);
}

/// Returns the counts and the input in a member's mailbox.
const std::byte* MailboxTransfer::posted(int member) const {
  const Mailbox& call = area_.mailbox(member, round_);
  // Members whose counts differ find them in one place.
  return call.input(has_counts() ? Mailbox::input_bytes_max : input_bytes_);
}

void MailboxTransfer::post() const {
  const OperationRequest& r = *request_;
  Mailbox& own = area_.mailbox(area_.self(), round_);
  std::byte* to = own.input(has_counts() ? Mailbox::input_bytes_max : input_bytes_);
  const bool splits = r.kind == OperationKind::all_to_all_v;
  if (has_counts()) std::memcpy(to, splits ? r.counts.data() : &r.count, counts_bytes_);
  if (!small()) return;
  // Only the root has an input to scatter or broadcast. The pointers of others are not valid.
  const bool from_root = r.kind == OperationKind::broadcast || r.kind == OperationKind::scatter;
  if (from_root && area_.self() != r.peer) return;
  const auto* input = static_cast<const std::byte*>(r.input);
  if (r.kind != OperationKind::all_gather || r.lanes == 0)
    return copy_array(to + counts_bytes_, input, input_bytes_);
  const Range lane = own_part(r, area_.self());
  const size_t bytes = element_bytes(r.type);
  copy_array(to, input + lane.begin * bytes, lane.count() * bytes);
}

void MailboxTransfer::prefetch(int member) const {
  if (input_bytes_ <= Mailbox::near_bytes || !small()) return;
  const std::byte* const input = area_.mailbox(member, round_).far.data();
  for (size_t at = 0; at < std::min(input_bytes_, prefetched_bytes_max); at += cache_line_bytes)
    __builtin_prefetch(input + at);
}

bool MailboxTransfer::lay_out() {
  if (has_counts()) return read_counts();
  const bool moves = !reduces(request_->kind) && request_->kind != OperationKind::barrier;
  if (moves) layout_.lay_out(*request_);
  return small();
}

bool MailboxTransfer::read_counts() {
  const bool splits = request_->kind == OperationKind::all_to_all_v;
  const size_t own_place = splits ? static_cast<size_t>(area_.self()) : 0;
  const size_t bytes_per_element = element_bytes(request_->type);
  OperationResult& result = *request_->result;
  const size_t each = counts_bytes_ / sizeof(size_t);
  result.counts.resize(counts_.size());
  held_counts_.resize(counts_.size() * each);
  bool all_small = true;
  for (size_t member = 0; member < counts_.size(); ++member) {
    size_t* const counts = held_counts_.data() + member * each;
    std::memcpy(counts, posted(static_cast<int>(member)), counts_bytes_);
    counts_[member] = counts;
    result.counts[member] = counts[own_place];
    const size_t elements = std::accumulate(counts, counts + each, size_t{0});
    all_small = all_small && counts_bytes_ + elements * bytes_per_element <= small_bytes_max_;
  }
  result.allocate(bytes_per_element);
  layout_.lay_out(*request_, counts_);
  return all_small;
}

void MailboxTransfer::receive() {
  if (request_->kind == OperationKind::barrier) return;
  reduces(request_->kind) ? reduce() : copy();
}

void MailboxTransfer::copy() {
  auto* output = static_cast<std::byte*>(request_->output);
  if (has_counts()) output = request_->result->data.get();
  // The root of a broadcast or scatter needs no output.
  if (output == nullptr) return;
  for (int member = 0; member < area_.members(); ++member) {
    const Part& part = layout_.received(member);
    copy_array(output + part.begin, posted(member) + counts_bytes_ + layout_.source(member),
               part.bytes);
  }
}

void MailboxTransfer::reduce() {
  const OperationRequest& r = *request_;
  if (r.kind == OperationKind::reduce && area_.self() != r.peer) return;
  const bool scatters = r.kind == OperationKind::reduce_scatter;
  const size_t bytes = element_bytes(r.type);
  const Range all{0, r.count};
  const Range own = scatters ? part_of(r, area_.self()) : all;
  if (own.count() == 0) return;
  for (int member = 0; member < area_.members(); ++member)
    sources_[static_cast<size_t>(member)] = posted(member) + own.begin * bytes;
  const Range result = scatters ? own_part(r, area_.self()) : all;
  auto* const output = static_cast<std::byte*>(r.output) + result.begin * bytes;
  Reducer(r.type, r.reduce).reduce_many({output}, sources_, own.count(), area_.members());
}

}  // namespace dt
