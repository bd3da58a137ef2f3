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

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
