#pragma once

/*
 * libdtrain: algorithms of the program's own for its collectives. The rules of dtrain.h for status,
 * errors and threads hold here, too.
 */

#include "dtrain.h"

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* A call of a collective with equal counts, for a program's own algorithm. */
typedef struct dtrain_algorithm_call {
  size_t struct_size;    /* sizeof(dtrain_algorithm_call) of the library */
  const char* operation; /* "all_reduce"; static */
  size_t count;          /* as in dtrain_buffers */
  size_t element_bytes;
  int rank;     /* of this process in the context */
  int size;     /* the number of ranks */
  int root;     /* 0 for operations without root */
  int in_place; /* 1: input and output are one buffer */
} dtrain_algorithm_call;

enum dtrain_place {
  DTRAIN_PLACE_OUTPUT = 0,
  DTRAIN_PLACE_INPUT = 1, /* only read */
  DTRAIN_PLACE_WORK = 2   /* memory of the library: count * size * 3 + size elements */
};
/* Elements [begin, end) of a buffer. */
typedef struct dtrain_range {
  size_t begin;
  size_t end;
  int place; /* enum dtrain_place */
} dtrain_range;

enum dtrain_fold {
  DTRAIN_FOLD_REPLACE = 0,       /* the received elements become the range */
  DTRAIN_FOLD_OPERAND_FIRST = 1, /* range = operand op received */
  DTRAIN_FOLD_RECEIVED_FIRST = 2 /* range = received op operand */
};
/* A rank sends a range, receives another one, or does both at once. The next step starts when both
 * are complete. A step that sends to its own rank, and receives from it, copies. These structs will
 * never get further fields. */
typedef struct dtrain_step {
  int send_to; /* -1: nothing is sent */
  dtrain_range send;
  int receive_from; /* -1: nothing is received */
  dtrain_range receive;
  int fold;             /* enum dtrain_fold */
  dtrain_range operand; /* unless fold is _REPLACE: as long as `receive`, and may equal it */
} dtrain_step;
/* The steps of one rank in one call. Exists during the call of a dtrain_algorithm. */
typedef struct dtrain_steps dtrain_steps;
/* Appends a step. Returns DTRAIN_OK, or _SYSTEM when there is no memory. */
DTRAIN_API int dtrain_steps_add(dtrain_steps* steps, dtrain_step step);

/* Adds this rank's steps of a call and returns 0; another value fails the call. The result may
 * depend on the arguments alone: each rank computes its own steps, and those of all ranks must fit
 * together. The function runs in any thread, calls no function of the library but dtrain_steps_add,
 * and throws nothing. */
typedef int (*dtrain_algorithm)(const dtrain_algorithm_call* call, dtrain_steps* steps, void* user);

/* Registers an algorithm by a name of 1 to 63 letters, digits and underscores. `dtrain run
 * --algorithms @NAME` then uses it for any operation but barrier. A strategy's cross_device_op uses
 * it between the devices of a process. `user` is passed to the algorithm, and both must stay valid
 * until the job's context is finalized. A collective of `context`: all its ranks register the same
 * name at the same place among their collectives. Fails as dtrain_barrier does, and with _INPUT for
 * a name that is wrong or registered already. The text of _MISMATCH names the ranks that have
 * called something else, or registered another name.
 *
 * A call fails with _INPUT on this rank when its algorithm is not registered, or when its steps
 * leave its buffers or ranks. The text names the algorithm and the step. Steps of several ranks
 * that do not fit together run into the time limit, or fail with _PROTOCOL. */
DTRAIN_API int dtrain_register_algorithm(dtrain_context* context, const char* name,
                                         dtrain_algorithm algorithm, void* user,
                                         dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */
