#pragma once

/*
 * libdtrain: buffers in memory of devices. The rules of dtrain.h for status, errors and threads
 * hold here, too.
 *
 * All operations of dtrain.h and dtrain_work.h but dtrain_all_reduce_sparse take
 * pointers to memory of a device. A device is a GPU, whose memory CUDA or another library has
 * allocated, or one that stands in for a GPU. The library detects the device of a pointer. Pinned
 * memory is memory of the host.
 *
 * Operations are staged: the data goes through pinned memory to the engine of the host, and back,
 * so that results have the same bits as on the host. The exception is all_reduce, reduce and
 * broadcast of more than 8 MiB without a name. These are cut into chunks of 4 MiB, whose copies
 * overlap, and their sums of floats may be rounded in another order, the same on all ranks. The
 * library keeps up to 256 MiB of pinned memory for each device.
 *
 * On GPUs, NCCL runs collectives of the whole job instead, also by name and in lists, where it can
 * connect all ranks. With DTRAIN_DEVICE_COLLECTIVES=staged in the environment of all ranks it does
 * not, and also not by default with --gpu-share.
 * - Conditions: The type and the reduction are those of NCCL, or the reduction is an average.
 *   Neither --algorithms nor --deterministic is given. Scales need floats, and compression needs
 *   float32. NCCL moves 8-bit floats and booleans, but does not reduce them. NCCL's minimum and
 *   maximum of floats drop a NaN, so those reductions are staged.
 * - Start: The first of these calls begins to connect the ranks' devices in the background. Calls
 *   are staged until all devices are connected (dtrain_uses_nccl), or cannot be. The ranks agree on
 *   that at each call. After that, NCCL begins a call without a name at once, and the ranks compare
 *   it meanwhile. If they differ, NCCL is aborted, and later calls fail, too. A call on another
 *   device than the first differs, unless all ranks have another one. Calls by name are also staged
 * while a rank has joined. With DTRAIN_DEVICE_COLLECTIVES=nccl, calls fail when NCCL cannot
 * connect all ranks.
 * - Order: A second call by a name that is pending waits until NCCL has the first. When a call by
 *   name reaches its time limit, all later calls for NCCL fail. Small calls are fused.
 * - Memory: For scaled and compressed calls of more than 1 MiB, the library keeps memory of the
 *   device until the end. While NCCL waits for a late rank, CUDA may let an allocation wait, too.
 * - End: Where NCCL has run, dtrain_finalize waits up to 2 s for the other ranks to finalize.
 * - One host: Where all ranks are on one host, kernels of this library make small sums in the place
 *   of NCCL. The ranks measure up to which size, or DTRAIN_PEER_MAX=256K sets it; 0 turns the
 *   kernels off.
 *
 * dtrain_op_options.stream: a stream of that device, such as a cudaStream_t. The input is read
 * after the earlier work of the stream. Its later work continues; dtrain_work_wait_stream() makes
 * it wait. The default stream is DTRAIN_DEFAULT_STREAM. NULL: the caller has waited for the input
 * itself. In both cases a blocking call returns when the result lies in memory of the device. An
 * asynchronous call returns when its copies are queued, and its work is done when the result lies
 * in that memory.
 *
 * A staged operation begins when its input has been copied, and its timeout begins then. The
 * timeout of an operation of NCCL begins with the call, and includes the time before the operation
 * begins. Later operations that match by their order wait until it has begun. The result of an
 * operation with counts for each rank lies on the device of its input. The buffers belong to the
 * operation until its work is done. dtrain_finalize waits for all copies, and for the stream's work
 * before them.
 *
 * Operations on memory of devices also fail with:
 * - _INPUT, before anything is sent: Some buffers are on the host and others on a device, or they
 *   are on two devices. A stream is of another device, is being captured, or comes with buffers on
 *   the host. A range exceeds its memory, as far as its device can detect that. A rank without
 *   elements ignores its stream.
 * - _SYSTEM: No pinned memory is left, and nothing was sent. Or the device has failed. If it fails
 *   before the input was read, all operations of this rank fail, now and later, and those of the
 *   others with _PEER_LOST. The same holds when NCCL fails, or does not end in time (_TIMEOUT
 *   here). The output of a call that failed in NCCL is undefined; in fused calls, each element
 *   keeps its value or has its result.
 * - _MISMATCH: Some ranks give memory of the host, and others of a device. Operations with counts
 *   for each rank, sends and receives allow that.
 */

#include "dtrain.h"

/* The default stream of CUDA: cudaStreamPerThread or cudaStreamLegacy, as for the program's own
 * calls. CUDA also names it NULL, which is no stream here. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define DTRAIN_DEFAULT_STREAM ((void*)2)
#else
#define DTRAIN_DEFAULT_STREAM ((void*)1)
#endif

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* Later work of the stream begins behind the work, so that it can read the result. The stream is
 * one of the device of the buffers, not only that of the options; several can wait. The call itself
 * waits until the last copy, or NCCL's kernel, is queued on the device. Until then no stream is
 * held: CUDA waits for all streams when it loads a kernel or frees memory, and the result could not
 * be queued meanwhile. Where the buffers lie on the host, it waits until the work is done. The
 * buffers belong to the operation until it is done, so the work must live as long. Where a failure
 * matters, wait for the work later, too.
 *
 * Waits for at most timeout_ms milliseconds, -1: without a limit; then returns DTRAIN_PENDING.
 * Returns the status of a work that is done. Fails with _INPUT for NULL and for a stream of another
 * device, or one that is being captured, and with _SYSTEM when the device has failed. */
DTRAIN_API int dtrain_work_wait_stream(dtrain_work* work, void* stream, int timeout_ms,
                                       dtrain_error* error);

/* Returns 1 when the ranks of the context have agreed that NCCL runs their collectives on memory of
 * devices that it can run; else 0, also for NULL. The value changes at most once, at the same call
 * of all ranks. */
DTRAIN_API int dtrain_uses_nccl(const dtrain_context* context);

/* Returns the number of the NCCL that the library would use, such as 22809, and loads it for that.
 * Returns 0 where it finds none, or one that is older than 2.14.3. DTRAIN_NCCL_LIB may name its
 * file. A build without GPU parts connects no GPUs by it. */
DTRAIN_API int dtrain_nccl_version(void);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
