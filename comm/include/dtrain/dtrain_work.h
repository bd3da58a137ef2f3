#pragma once

/*
 * libdtrain: many tensors in one call, many works in one thread, and the times of a work. The rules
 * of dtrain.h for status, errors and threads hold here, too.
 */

#include "dtrain.h"

#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors of any types; `tensors`, `shapes` and `dims` are read during the call. */
typedef struct dtrain_tensor_list {
  size_t struct_size;            /* sizeof(dtrain_tensor_list) */
  const dtrain_buffers* tensors; /* as for dtrain_all_reduce; may be NULL if count is 0 */
  size_t count;
  const size_t* const* shapes; /* NULL, or the shape of each tensor (see dtrain_op_options) */
  const int* dims;             /* the dimensions of each shape; NULL if shapes is */
  const char* const* names;    /* NULL, or the name of each tensor, which then stands alone */
} dtrain_tensor_list;

/* All_reduces each tensor of the list, as one call of dtrain_all_reduce with a name for each would.
 * The calls begin together: each tensor can be sent with others, and their order does not matter.
 * With options->name "grad", the tensors are named "grad[1/3]" to "grad[3/3]". Lists without a name
 * match by their order on each rank. Lists of one name whose lengths differ between the ranks fail
 * with _MISMATCH, once every rank has given one. So two lists of one name and of different lengths
 * must not be pending in another order on another rank.
 *
 * Either all tensors are sent or none is. They are sent when every rank has called each of them.
 * None is sent if one is wrong here (_INPUT) or differs between the ranks (_MISMATCH). The call
 * ends when all tensors have ended, with the error of the first that has failed. `options->shape`
 * must be NULL.
 *
 * With list->names, each tensor matches by its own name instead, in whatever list or single call
 * another rank has it. It is sent once every rank has called it, also if others fail. */
DTRAIN_API int dtrain_all_reduce_list(dtrain_context* context, const dtrain_tensor_list* list,
                                      dtrain_op op, const dtrain_op_options* options,
                                      dtrain_error* error);
/* The same, but it returns at once. */
DTRAIN_API dtrain_work* dtrain_all_reduce_list_async(dtrain_context* context,
                                                     const dtrain_tensor_list* list, dtrain_op op,
                                                     const dtrain_op_options* options,
                                                     dtrain_error* error);

/* The contributions of ranks that a step does not wait for. */
enum dtrain_late {
  DTRAIN_DROP_LATE = 0,
  DTRAIN_CARRY_LATE = 1 /* added, by the reduction, to the rank's next contribution of that name */
};

/* How many contributions a step waits for; equal on all ranks. */
typedef struct dtrain_quorum {
  size_t struct_size; /* sizeof(dtrain_quorum) */
  int ranks;          /* contributions that are enough; 1 to the size of the context */
  int deadline_ms;    /* this long after the first, the contributions so far are enough; 0: never */
  int late;           /* enum dtrain_late */
  int behind_max;     /* steps that may be decided before a rank's calls of them, 0 is 1. Each costs
                         that rank memory for a list's results */
} dtrain_quorum;

/* All_reduces a list as dtrain_all_reduce_list does, but without waiting for slow ranks (backup
 * workers). Each call of a name is a step; options->name must be given. A step begins when enough
 * ranks have called it, and has the contributions of these ranks, which are the same for all
 * tensors. All ranks get the same results. An average is over the contributions. The first step of
 * a name waits for all ranks.
 *
 * A rank that is late gets the result of its step at once, without its contribution, so that all
 * ranks make equally many calls. From a rank's first such call on, its engine thread runs the steps
 * that are decided without it. A rank that is stopped, or has left or died, still holds up the
 * others or ends their steps.
 *
 * The result of the work (see dtrain_work_result) lists, as DTRAIN_INT32, the ranks whose
 * contributions the step has. This rank was late if it is not among them. Fails as
 * dtrain_all_reduce_list does, and with _INPUT for wrong fields of the quorum and for DTRAIN_ADASUM
 * with DTRAIN_CARRY_LATE. */
DTRAIN_API int dtrain_all_reduce_quorum(dtrain_context* context, const dtrain_tensor_list* list,
                                        dtrain_op op, const dtrain_quorum* quorum,
                                        dtrain_work** work, const dtrain_op_options* options,
                                        dtrain_error* error);
/* The same, but it returns at once. */
DTRAIN_API dtrain_work* dtrain_all_reduce_quorum_async(dtrain_context* context,
                                                       const dtrain_tensor_list* list, dtrain_op op,
                                                       const dtrain_quorum* quorum,
                                                       const dtrain_op_options* options,
                                                       dtrain_error* error);

/* This rank's calls of dtrain_all_reduce_quorum in a context that have succeeded. */
typedef struct dtrain_quorum_counts {
  size_t struct_size; /* sizeof(dtrain_quorum_counts), set by the caller */
  uint64_t steps;     /* all of them */
  uint64_t late;      /* those without this rank's contribution */
  uint64_t carried;   /* those whose contribution was kept for a later step */
} dtrain_quorum_counts;

/* Fills *counts; with zeros when the context was finalized. Only _INPUT fails. */
DTRAIN_API int dtrain_count_quorum(dtrain_context* context, dtrain_quorum_counts* counts,
                                   dtrain_error* error);

/* Some rows of a matrix, such as the gradient of an embedding. The memory belongs to the caller. */
typedef struct dtrain_sparse_rows {
  size_t struct_size;     /* sizeof(dtrain_sparse_rows) */
  const int64_t* indices; /* of each row, from 0, in any order; may be NULL if count is 0 */
  const void* values;     /* the elements of these rows, row by row; may be NULL if count is 0 */
  size_t count;           /* rows that are given; one that is given twice is reduced with itself */
  size_t rows;            /* of the whole matrix */
  size_t width;           /* elements of each row, at least 1 */
  dtrain_type type;
} dtrain_sparse_rows;

/* The merged rows of all ranks. */
typedef struct dtrain_sparse_result {
  size_t struct_size;     /* sizeof(dtrain_sparse_result), set by the caller */
  const int64_t* indices; /* ascending, each once */
  const void* values;     /* the elements of these rows, row by row */
  size_t count;           /* rows */
  size_t width;           /* elements of each row */
  dtrain_type type;
  int dense; /* 1: the result has all rows of the matrix, because a rank gave 40 % of
                them or more */
} dtrain_sparse_result;

/* All_reduces rows that may differ between the ranks. The result has each row that a rank has
 * given, reduced over all ranks. A rank without a row contributes the value that changes no result,
 * which is 0 for a sum. An average divides by the number of all ranks. In a dense result, rows that
 * no rank has given consist of that value.
 *
 * Blocks until it is done, and then sets *work, which has the result; after an error *work is NULL.
 * The call makes two collectives: one for the indices of the rows, then an all_reduce of the
 * elements of all rows that some rank has. With options->name "x", they are named "x[rows]" and
 * "x[values]".
 *
 * Fails as dtrain_all_reduce does, and with _MISMATCH on all ranks if rows, width, type or op
 * differ. Fails with _INPUT for an index out of range, for a shape, and for a prescale unless the
 * op is a sum or an average. */
DTRAIN_API int dtrain_all_reduce_sparse(dtrain_context* context, const dtrain_sparse_rows* rows,
                                        dtrain_op op, dtrain_work** work,
                                        const dtrain_op_options* options, dtrain_error* error);
/* Fills *result from a work of dtrain_all_reduce_sparse. The pointers stay valid until the work is
 * freed. Fails with _INPUT for other works. */
DTRAIN_API int dtrain_work_sparse(dtrain_work* work, dtrain_sparse_result* result,
                                  dtrain_error* error);

/* *index = the first place in `works` whose operation has succeeded or failed; its status is that
 * of dtrain_work_wait. Waits until there is one, or returns DTRAIN_PENDING if `timeout_ms` passed
 * first. A negative `timeout_ms` means no limit; with 0, the call does not wait. NULL in the array
 * is left out, so that a caller may replace works that are done by NULL. The works may be of
 * several groups of one job. None of them may be freed meanwhile.
 *
 * Fails with _INPUT for a NULL pointer, for works of two jobs, and for an array without a work, for
 * which a call would wait forever. *index is unchanged then. */
DTRAIN_API int dtrain_wait_any(dtrain_work* const* works, size_t count, int timeout_ms,
                               size_t* index, dtrain_error* error);

/* Nanoseconds of CLOCK_MONOTONIC, 0 for what has not happened. An operation that fails early has
 * never started. */
typedef struct dtrain_times {
  size_t struct_size;   /* sizeof(dtrain_times), set by the caller */
  int64_t submitted_ns; /* the call that made the work */
  int64_t started_ns;   /* collectives: those before it in its group were done, and it began. Sends
                           and receives: the other rank had made its call, too */
  int64_t ended_ns;     /* it succeeded or failed */
} dtrain_times;

/* Fills *times. Only _INPUT fails: a NULL pointer, and a fork. */
DTRAIN_API int dtrain_work_times(dtrain_work* work, dtrain_times* times, dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
