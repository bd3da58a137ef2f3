#include "comm/shared/mailbox_transfer.h"

#include "comm/kernels/reducer.h"
#include "comm/shared/copy_bytes.h"

#include <algorithm>

namespace dt {

namespace {

/// Each member reads the small inputs of all others: with many members, blocks are faster.
constexpr size_t small_bytes_max = size_t{64} << 10;

/// True for kinds whose input has a part for each member.
bool has_parts(OperationKind kind) {
  return kind == OperationKind::reduce_scatter || kind == OperationKind::scatter ||
         kind == OperationKind::all_to_all;
}

}  // namespace

MailboxTransfer::MailboxTransfer(const SharedArea& area)
    : area_(area), sources_(static_cast<size_t>(area.members())) {
}

bool MailboxTransfer::start(const OperationRequest& request, uint64_t round) {
  request_ = &request;
  round_ = round;
  const auto members = static_cast<size_t>(area_.members());
  const bool has_data = request.kind != OperationKind::barrier;
  part_bytes_ = has_data ? request.count * element_bytes(request.type) : 0;
  input_bytes_ = has_parts(request.kind) ? part_bytes_ * members : part_bytes_;
  return plays(request.kind) &&
         input_bytes_ <= std::min(Mailbox::input_bytes_max, small_bytes_max / members);
}

void MailboxTransfer::send() const {
  // The input of others is not read, and may point anywhere.
  const bool root_gives =
      request_->kind == OperationKind::broadcast || request_->kind == OperationKind::scatter;
  if (root_gives && !is_root()) return;
  std::byte* mailbox = area_.mailbox(area_.self(), round_).input(input_bytes_);
  copy_bytes(mailbox, static_cast<const std::byte*>(request_->input), input_bytes_);
}

const std::byte* MailboxTransfer::input_of(int member) const {
  return area_.mailbox(member, round_).input(input_bytes_);
}

void MailboxTransfer::receive() {
  const size_t own_part = static_cast<size_t>(area_.self()) * part_bytes_;
  switch (request_->kind) {
    case OperationKind::all_reduce:
      return reduce(0);
    case OperationKind::reduce_scatter:
      return reduce(own_part);
    case OperationKind::reduce:
      if (is_root()) reduce(0);
      return;
    case OperationKind::broadcast:
      return copy_from_root(0);
    case OperationKind::scatter:
      return copy_from_root(own_part);
    case OperationKind::all_gather:
      return gather(0);
    case OperationKind::gather:
      if (is_root()) gather(0);
      return;
    case OperationKind::all_to_all:
      return gather(own_part);
    default:
      return;
  }
}

/// Copies `count` elements of the root's input. The root may have no output.
void MailboxTransfer::copy_from_root(size_t begin) {
  if (output() != nullptr) copy_bytes(output(), input_of(request_->peer) + begin, part_bytes_);
}

/// Copies `count` elements of each member's input, by member.
void MailboxTransfer::gather(size_t begin) {
  for (int member = 0; member < area_.members(); ++member)
    copy_bytes(output() + static_cast<size_t>(member) * part_bytes_, input_of(member) + begin,
               part_bytes_);
}

/// Reduces `count` elements of all inputs.
void MailboxTransfer::reduce(size_t begin) {
  for (int member = 0; member < area_.members(); ++member)
    sources_[static_cast<size_t>(member)] = input_of(member) + begin;
  const Reducer reducer(request_->type, request_->reduce);
  reducer.reduce_many({output()}, sources_, request_->count, area_.members());
}

}  // namespace dt
