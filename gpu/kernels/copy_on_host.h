#pragma once

#include "gpu/copy_batch.h"

namespace dt {

/// Makes the copies on this thread, with the bits of the kernel. Requires a batch that check()
/// accepts.
void copy_on_host(const CopyBatch& batch);

}  // namespace dt
