#pragma once

/*
 * libdtrain: memory for buffers that the ranks of a host read in place, and buffers in memory of
 * devices. The rules of dtrain.h for status, errors and threads hold here, too.
 *
 * Memory of devices: all operations of dtrain.h and dtrain_work.h but dtrain_all_reduce_sparse take
 * pointers to memory of a device. This is a GPU, whose memory CUDA or another library has
 * allocated, or a device that stands in for one. The library finds out where a pointer leads;
 * pinned memory is memory of the host.
 *
 * Operations are staged: the data goes through pinned memory to the engine of the host, and back.
 * So results have the same bits as on the host. But all_reduce, reduce and broadcast of more than
 * 8 MiB without a name are cut into chunks of 4 MiB, whose copies overlap. Sums of floats may be
 * rounded in another order there, the same on all ranks. The library keeps up to 256 MiB of pinned
 * memory for each device.
 *
 * With DTRAIN_DEVICE_COLLECTIVES=auto in the environment of all ranks, NCCL plays collectives of
 * the whole job, also by name and lists. They need types and a reduction that NCCL has, or an
 * average, and no --algorithms or --deterministic. NCCL moves 8-bit floats and booleans, but does
 * not reduce them. Its minimum and maximum of floats drop a NaN, so those are staged. Scales need
 * floats, and compression float32. The first of these calls begins to connect the ranks' devices in
 * the background. The ranks agree before each whether NCCL plays it. They are staged until all
 * devices are connected (dtrain_uses_nccl), or cannot be. One on another device than the first is a
 * _MISMATCH then, unless all ranks have another one. Calls by name are also staged while a rank has
 * joined. With nccl instead of auto, calls fail when NCCL cannot connect all ranks. A second call
 * by a name that is pending waits until NCCL has the first. When one by name fails by its time
 * limit, all later calls for NCCL fail. Small calls are fused that have no stream. For scaled and
 * compressed calls of more than 1 MiB, the library keeps memory of the device until the end.
 * dtrain_finalize waits up to 2 s for the other ranks to finalize where NCCL has played. Where all
 * ranks are on one host, kernels of this library make small sums in the place of NCCL. The ranks
 * find up to which size, or DTRAIN_PEER_MAX=256K sets it; 0 turns them off. No GPU has run this, so
 * it is not the default.
 *
 * dtrain_op_options.stream: a stream of that device, such as a cudaStream_t. The input is read
 * after the earlier work of the stream. The stream's later work waits until the operation has
 * ended. The default stream is cudaStreamLegacy (1) or cudaStreamPerThread (2). NULL: the caller
 * has waited for the input itself. In both cases a blocking call returns when the result lies in
 * memory of the device. An asynchronous one returns when its copies are queued, and its work is
 * done when the result lies there. With a stream, it needs no wait: later work of the stream finds
 * the result.
 *
 * A staged operation begins when its input has been copied, and its timeout begins then. That of
 * NCCL begins with the call, and what comes before it counts. Later operations that match by their
 * order wait for that. The operations of one stream end in the order of the calls, also named ones
 * and messages. So all ranks call them in one order. The result of an operation with counts for
 * each rank lies on the device of its input. The buffers belong to the operation until its work is
 * done. dtrain_finalize waits for all copies, also for the stream's work before them.
 *
 * Errors: _INPUT, before anything is sent: buffers on the host and on a device, or on two devices;
 * a stream of another device, or one with buffers on the host; memory that a range exceeds, as far
 * as its device can detect that; a stream that is being captured. A rank without elements ignores
 * its stream. _SYSTEM: no pinned memory is left (nothing was sent), or the
 * device has failed. Before the input was read, all operations of this rank fail then, now and
 * later, and those of the others with _PEER_LOST. The same holds when NCCL fails, or does not end
 * in time (_TIMEOUT here). The content of the output of a call that failed in NCCL is undefined. In
 * fused calls, each element keeps its value or has its result. _MISMATCH:
 * some ranks give memory of the host, and others of a device; but counts for each rank, sends and
 * receives may have both.
 */

#include "dtrain.h"

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* *memory = `bytes` of zeroed memory for buffers, aligned to 4,096 bytes at least.
 *
 * In large collectives, the ranks of a host read such buffers in place and copy nothing in or out,
 * when each of these ranks has allocated some. all_reduce needs it on each of them for input and
 * output. all_gather, reduce_scatter and broadcast need it where an input is read. Buffers may
 * begin anywhere in it. Other operations, and calls in which a rank of the host has other memory,
 * work as usual. Results have the same bits in all cases.
 *
 * An allocation has whole pages, and huge pages from 2 MiB on where the kernel gives them. All of
 * it exists when dtrain_alloc returns, which takes up to some seconds per GiB: allocate once, not
 * for each call. It is ordinary memory if the rank is alone on its host, with TCP only, and if a
 * limit (ulimit -v, -f) excludes shared memory. The kernel may then provide it at the first access.
 *
 * The memory is valid until dtrain_free, or until dtrain_finalize of the job's context, which frees
 * all of it. That of a group frees nothing. No operation may use memory that is freed. Each context
 * of a job may free what another one has allocated. After a fork, parent and child share the
 * memory: both see what one of them writes. Core dumps leave it out.
 *
 * Errors: _INPUT (a NULL), _SYSTEM (memory is short; the text has the bytes wanted and available).
 * *memory is NULL then. The call is not collective, and its failure concerns no other call. */
DTRAIN_API int dtrain_alloc(dtrain_context* context, size_t bytes, void** memory,
                            dtrain_error* error);
/* Frees memory of dtrain_alloc; NULL does nothing. Later accesses end the program. Fails with
 * _INPUT when no memory of dtrain_alloc of this job begins there. */
DTRAIN_API int dtrain_free(dtrain_context* context, void* memory, dtrain_error* error);

/* Returns 1 when the ranks have agreed that NCCL plays the collectives that it can, on memory of
 * devices; else 0, as for NULL. It changes at most once, at the same call of all ranks. */
DTRAIN_API int dtrain_uses_nccl(const dtrain_context* context);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
