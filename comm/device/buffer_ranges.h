#pragma once

#include "comm/schedule/operation_request.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace dt {

/// A rank within the group of a call.
struct CallingRank {
  int rank = 0;
  int size = 1;
};

/// The memory of a tensor that a rank's call reads and writes.
struct BufferRanges {
  const std::byte* input = nullptr;
  size_t input_bytes = 0;
  std::byte* output = nullptr;
  size_t output_bytes = 0;
  std::optional<size_t> input_room = {};  ///< bytes from there to its memory's end, if known
  std::optional<size_t> output_room = {};
  bool is_empty() const { return input_bytes == 0 && output_bytes == 0; }
  bool operator==(const BufferRanges&) const = default;
};

/// Returns the ranges of a call, one for each tensor of a list. A pointer that this rank does not
/// use has no bytes. Requires that check_request() accepts the call, or each tensor of it.
std::vector<BufferRanges> ranges_of(const OperationRequest& request, CallingRank self);

/// The places of a tensor's ranges within memory for the whole call.
struct StagedPlaces {
  size_t input = 0;
  size_t output = 0;
  bool operator==(const StagedPlaces&) const = default;
};
struct StagingLayout {
  std::vector<StagedPlaces> places;
  size_t bytes = 0;
};
/// Gives each range a place. Ranges of one tensor that overlap keep their distance.
StagingLayout lay_out(const std::vector<BufferRanges>& ranges);

}  // namespace dt
