#pragma once

#include "base/kernels/element.h"
#include "gpu/kernels/peer_all_reduce.cuh"

namespace dt {

/// True for types that kernels of peers can add. These are floats of 16 bits and more, and integers
/// of 32 and 64.
bool peers_can_sum(ElementType type);

/// Runs the blocks of a rank on this thread, one after the other. So do all ranks. Requires a type
/// that peers_can_sum() accepts.
void sum_peers_on_host(ElementType type, const PeerAllReduce& call);

}  // namespace dt
