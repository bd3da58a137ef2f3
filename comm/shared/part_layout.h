#pragma once

#include "comm/schedule/operation_request.h"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

/// Bytes [begin, begin + bytes) of a buffer.
struct Part {
  size_t begin = 0;
  size_t bytes = 0;
  bool operator==(const Part&) const = default;
};

/// The bytes that each member of a group gets from each other in a collective that only moves data.
/// That is every kind but reductions and the barrier.
class PartLayout {
 public:
  PartLayout(int members, int self);

  /// For a request whose counts are equal on all members.
  void lay_out(const OperationRequest& request);
  /// For members with counts of their own. `counts` has each member's: one, or one for each
  /// receiver. Requires that the size of the whole result can be computed.
  void lay_out(const OperationRequest& request, std::span<const size_t* const> counts);

  /// True when the receivers of an input get different parts of it; otherwise each gets all of it.
  bool dealt() const { return dealt_; }
  /// True when `reader` gets a part from `writer`, which may be the same member.
  bool reads(int reader, int writer) const;

  /// The part of this member's input that goes to `member`.
  const Part& sent(int member) const { return sent_[static_cast<size_t>(member)]; }
  /// The part of this member's output that comes from `member`.
  const Part& received(int member) const { return received_[static_cast<size_t>(member)]; }
  /// Where that part begins in the input of `member`.
  size_t source(int member) const { return sources_[static_cast<size_t>(member)]; }
  /// The size of the largest part between any two members; equal on all of them.
  size_t part_bytes_max() const { return part_bytes_max_; }

 private:
  void begin(const OperationRequest& request);
  void lay_out_lanes(const OperationRequest& request);
  void lay_out_ragged(std::span<const size_t* const> counts, size_t element_bytes);
  void lay_out_split(std::span<const size_t* const> counts, size_t element_bytes);

  int members_;
  int self_;
  OperationKind kind_ = OperationKind::all_gather;
  int root_ = 0;
  bool dealt_ = false;
  std::vector<Part> sent_;
  std::vector<Part> received_;
  std::vector<size_t> sources_;
  size_t part_bytes_max_ = 0;
};

}  // namespace dt
