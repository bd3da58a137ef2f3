#pragma once

#include "gpu/copy_batch.h"
#include "gpu/kernels/copy_kernel.cuh"

#include <span>

namespace dt {

/// Returns the parameters for pieces that are not empty, at most `capacity`. Requires a batch that
/// check() accepts.
template <int capacity>
CopyArguments<capacity> copy_arguments(const CopyBatch& batch, std::span<const CopyPiece> pieces);

/// Returns the pieces that are not empty. A piece that has more tiles than a launch counts is cut.
std::vector<CopyPiece> launchable_pieces(const CopyBatch& batch);

}  // namespace dt
