#pragma once

/*
 * libdtrain: memory for buffers that the ranks of a host read in place. The rules of dtrain.h for
 * status, errors and threads hold here, too.
 */

#include "dtrain.h"

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* *memory = `bytes` of zeroed memory for buffers, aligned to 4,096 bytes at least.
 *
 * In large collectives, the ranks of a host read such buffers in place and copy nothing in or out,
 * when each of these ranks has allocated some. For all_reduce, input and output must lie there on
 * each of these ranks. For all_gather, reduce_scatter and broadcast, an input that is read must.
 * Buffers may begin anywhere in such memory. Other operations, and calls in which a rank of the
 * host has other memory, work as usual. Results have the same bits in all cases.
 *
 * An allocation has whole pages, and huge pages from 2 MiB on where the kernel gives them. All
 * pages exist when dtrain_alloc returns. This takes up to some seconds per GiB, so allocate once,
 * not for each call. The memory is ordinary if the rank is alone on its host, with TCP only, and if
 * a limit (ulimit -v, -f) excludes shared memory. The kernel may then provide it at the first
 * access.
 *
 * The memory is valid until dtrain_free, or until dtrain_finalize of the job's context, which frees
 * all of it; dtrain_finalize of a group frees none. No operation may use memory that is freed. Each
 * context of a job may free memory that another one has allocated. After a fork, parent and child
 * share the memory: both see what one of them writes. Core dumps leave it out.
 *
 * Fails with _INPUT for a NULL, and with _SYSTEM when memory is short; the text has the bytes
 * wanted and available. *memory is NULL then. The call is not collective, and its failure concerns
 * no other call. */
DTRAIN_API int dtrain_alloc(dtrain_context* context, size_t bytes, void** memory,
                            dtrain_error* error);
/* Frees memory of dtrain_alloc; NULL does nothing. Later accesses end the program. Fails with
 * _INPUT when no memory of dtrain_alloc of this job begins there. */
DTRAIN_API int dtrain_free(dtrain_context* context, void* memory, dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
