#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/schedule/operation_request.h"
#include "gpu/device.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace dt {

/// A part of a staged call that the engine runs as one operation in pinned memory.
struct StagedChunk {
  std::shared_ptr<Operation> executed;
  std::vector<MemoryCopy> inputs = {};   ///< before it
  std::vector<MemoryCopy> results = {};  ///< after it
};

/// The size of a chunk. Calls of up to two are one.
inline constexpr size_t chunk_bytes = size_t{4} << 20;

/// Returns how many elements each chunk of the call has but the last. 0: the call is one chunk. The
/// same on all ranks, if they make the same call. Calls by name and those with parts are not cut.
size_t elements_of_chunk(const OperationRequest& call);

/// Cuts a call whose ranges lie in `memory` by this layout. So the copies of one chunk run while
/// the engine runs another one. The only chunk is the call itself, which gets its buffers in
/// `memory`. The ranks compare each of several chunks as the whole call.
std::vector<StagedChunk> cut(const std::shared_ptr<Operation>& call,
                             const std::vector<BufferRanges>& ranges, const StagingLayout& layout,
                             std::byte* memory);

}  // namespace dt
