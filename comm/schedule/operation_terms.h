#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// The type of the data that a reduction sends, instead of float32 or float64.
enum class Compression : uint8_t { none, float16, bfloat16 };
inline constexpr size_t compression_count = 3;

/// Where the buffers of a call lie.
enum class MemoryKind : uint8_t {
  host,
  device,
  connected_device,  ///< the one that NCCL may connect with those of the other ranks
};

/// How many contributions a call of several tensors waits for. The contributions of other ranks are
/// late.
struct Quorum {
  uint32_t ranks = 0;         ///< contributions that are enough; 0: the call waits for all ranks
  uint32_t deadline_ms = 0;   ///< after the first; then those so far are enough; 0: never
  uint32_t behind_max = 1;    ///< steps of one rank that may be decided before its calls of them
  bool carries_late = false;  ///< a late contribution is added to the rank's next one

  bool operator==(const Quorum&) const = default;
};

/// The terms that a call may have beside its buffers. They are equal on all ranks.
struct OperationTerms {
  static constexpr size_t dimensions_max = 64;
  static constexpr size_t element_name_bytes_max = 32;
  static constexpr size_t element_bytes_max = size_t{1} << 20;

  double prescale = 1;          ///< each input is multiplied by it before the reduction
  double postscale = 1;         ///< each result is multiplied by it
  bool average_active = false;  ///< an average is over the ranks that have not joined
  Compression compression = Compression::none;
  Quorum quorum = {};  ///< only of calls of several tensors
  uint64_t parts = 0;  ///< a hash of the counts of uneven parts; 0: they are even
  /// Elements without arithmetic: their name, and their size in bytes. Their type is uint8 then,
  /// and counts are in bytes. 0: they have a type.
  std::string element = {};
  uint32_t element_bytes = 0;
  MemoryKind memory = MemoryKind::host;
  bool has_shape = false;
  std::vector<uint64_t> shape = {};  ///< the sizes of the dimensions; may be empty

  bool scales() const { return prescale != 1 || postscale != 1; }
  bool operator==(const OperationTerms&) const = default;
};

}  // namespace dt
