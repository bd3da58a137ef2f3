#include "comm/shared/part_layout.h"

#include "comm/shared/lanes.h"

#include <algorithm>
#include <cassert>

namespace dt {

PartLayout::PartLayout(int members, int self)
    : members_(members),
      self_(self),
      sent_(static_cast<size_t>(members)),
      received_(static_cast<size_t>(members)),
      sources_(static_cast<size_t>(members)) {
}

void PartLayout::begin(const OperationRequest& request) {
  assert(!reduces(request.kind) && request.kind < OperationKind::barrier);
  kind_ = request.kind;
  root_ = request.peer;
  dealt_ = kind_ == OperationKind::scatter || kind_ == OperationKind::all_to_all ||
           kind_ == OperationKind::all_to_all_v;
}

bool PartLayout::reads(int reader, int writer) const {
  if (kind_ == OperationKind::gather) return reader == root_;
  const bool from_root = kind_ == OperationKind::broadcast || kind_ == OperationKind::scatter;
  return !from_root || writer == root_;
}

void PartLayout::lay_out(const OperationRequest& request) {
  begin(request);
  if (request.lanes > 0) return lay_out_lanes(request);
  const size_t bytes = bytes_of(request);
  const bool collected = kind_ == OperationKind::all_gather || kind_ == OperationKind::gather ||
                         kind_ == OperationKind::all_to_all;
  for (int member = 0; member < members_; ++member) {
    const auto at = static_cast<size_t>(member);
    sent_[at] = {dealt_ ? at * bytes : 0, reads(member, self_) ? bytes : 0};
    received_[at] = {collected ? at * bytes : 0, reads(self_, member) ? bytes : 0};
    sources_[at] = dealt_ ? static_cast<size_t>(self_) * bytes : 0;
  }
  part_bytes_max_ = bytes;
}

/// The lanes of an all_gather, which have the same places everywhere.
void PartLayout::lay_out_lanes(const OperationRequest& request) {
  const size_t bytes = element_bytes(request.type);
  const auto lane = [&](int member) {
    const Range part = part_of(request, member);
    return Part{part.begin * bytes, part.count() * bytes};
  };
  for (int member = 0; member < members_; ++member) {
    const auto at = static_cast<size_t>(member);
    sent_[at] = lane(self_);
    received_[at] = lane(member);
    sources_[at] = 0;
  }
  part_bytes_max_ = part_elements_max(request) * bytes;
}

void PartLayout::lay_out(const OperationRequest& request, std::span<const size_t* const> counts) {
  begin(request);
  part_bytes_max_ = 0;
  dealt_ ? lay_out_split(counts, element_bytes(request.type))
         : lay_out_ragged(counts, element_bytes(request.type));
}

void PartLayout::lay_out_ragged(std::span<const size_t* const> counts, size_t element_bytes) {
  const size_t own = counts[static_cast<size_t>(self_)][0] * element_bytes;
  size_t end = 0;
  for (size_t member = 0; member < counts.size(); ++member) {
    const size_t bytes = counts[member][0] * element_bytes;
    sent_[member] = {0, own};
    received_[member] = {end, bytes};
    sources_[member] = 0;
    end += bytes;
    part_bytes_max_ = std::max(part_bytes_max_, bytes);
  }
}

void PartLayout::lay_out_split(std::span<const size_t* const> counts, size_t element_bytes) {
  const auto self = static_cast<size_t>(self_);
  size_t end = 0;
  for (size_t from = 0; from < counts.size(); ++from) {
    size_t begin = 0;
    for (size_t to = 0; to < counts.size(); ++to) {
      const size_t bytes = counts[from][to] * element_bytes;
      if (to == self) sources_[from] = begin;
      if (from == self) sent_[to] = {begin, bytes};
      begin += bytes;
      part_bytes_max_ = std::max(part_bytes_max_, bytes);
    }
    received_[from] = {end, counts[from][self] * element_bytes};
    end += received_[from].bytes;
  }
}

}  // namespace dt
