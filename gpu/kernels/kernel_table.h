#pragma once

#include "base/kernels/element.h"
#include "gpu/copy_batch.h"

namespace dt {

/// A kernel as cudaLaunchKernel() takes it. Its one parameter is passed by value.
using KernelFunction = const void*;

/// Threads of a block of each kernel. Two blocks fit on a multiprocessor of every GPU.
inline constexpr unsigned kernel_block_threads = 256;

/// Threads of a block of peer_sum_kernel().
inline constexpr unsigned peer_block_threads = 512;

/// Returns the kernel whose parameter is a ReduceArguments; null for adasum, and for averages of
/// booleans.
KernelFunction reduce_kernel(ElementType type, ReduceOp op);

/// Returns the kernel whose parameter is a CopyArguments for `few` or for many pieces; null for
/// formats without a cast.
KernelFunction copy_kernel(CopyFormat from, CopyFormat to, bool few);

/// Returns the kernel whose parameter is a PeerAllReduce. Null for types that peers_can_sum()
/// refuses.
KernelFunction peer_sum_kernel(ElementType type);

// The parts of reduce_kernel(), each in a .cu file of its own, so that they compile in parallel.
// Null for other types and operations.
KernelFunction reduce_kernel_half(ElementType type, ReduceOp op);
KernelFunction reduce_kernel_float(ElementType type, ReduceOp op);
KernelFunction reduce_kernel_small_integer(ElementType type, ReduceOp op);
KernelFunction reduce_kernel_integer(ElementType type, ReduceOp op);

// These parts are PTX, which the driver compiles at their first use. Only reductions within a
// process reach them.
KernelFunction reduce_kernel_float8(ElementType type, ReduceOp op);
KernelFunction reduce_kernel_rare_integer(ElementType type, ReduceOp op);

}  // namespace dt
