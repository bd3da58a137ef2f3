#pragma once

/*
 * libdtrain: one training loop on one device, on several devices of a process, or on those of
 * several processes, as `dtrain run --strategy` decides. The rules of dtrain.h for status, errors
 * and threads hold here, too. C++ programs use dtrain_strategy.hpp.
 *
 * A replica is a copy of the training loop's step: one device, with a thread and a stream of its
 * own. Replicas are numbered through all workers, those of rank 0 first. A step computes gradients
 * from its part of the batch; dtrain_replica_apply reduces them over all replicas, and updates the
 * variables.
 *
 * Under parameter_server, the tasks of role ps hold the variables of float32 and float64 that are
 * synchronized on write. An update changes the worker's copy, and the servers get the difference. A
 * synchronous step has the result of multi_worker_mirrored for updates that are linear in the
 * gradient, such as SGD with momentum. Each worker has other variables for itself. All reductions
 * but those of dtrain_replica_apply and dtrain_replica_assign are over one worker, too.
 */

#include "dtrain.h"

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dtrain_strategy dtrain_strategy;
typedef struct dtrain_variable dtrain_variable;
/* A replica within its step; valid until the step returns. */
typedef struct dtrain_replica dtrain_replica;

/* Fields that are zero take their values from the environment, else have their defaults. */
typedef struct dtrain_strategy_options {
  size_t struct_size; /* sizeof(dtrain_strategy_options) */
  /* "one_device", "mirrored", "central_storage", "multi_worker_mirrored" or "parameter_server".
   * NULL: DTRAIN_STRATEGY, else multi_worker_mirrored where the job or TF_CONFIG has several
   * workers, else mirrored. */
  const char* name;
  /* This process's devices, as "0,2", "cpu:1", "/gpu:1" or "/job:worker/task:0/gpu:1", which only
   * that task takes. NULL: DTRAIN_DEVICES, else all GPUs. Where there is no GPU, the process has
   * one device of the CPU, or DTRAIN_CPU_DEVICES of them. "cpu": the same also where there are
   * GPUs, for programs whose code runs on the CPU, which cannot use the memory of GPUs. */
  const char* devices;
  /* "ReductionToOneDevice", "ReductionToOneDevice:DEVICE" (one of the strategy's devices, or
   * "cpu"), "HierarchicalCopyAllReduce:PACKS", "AllReduce:PACKS" or "NcclAllReduce:PACKS". The last
   * needs GPUs and NVIDIA's NCCL, which connects them when the strategy begins. AllReduce takes the
   * types and reductions that NCCL lacks, and the minimum and maximum of floats. Between several
   * workers, each reduces to its first device. NULL: DTRAIN_CROSS_DEVICE_OP, else "AllReduce".
   *
   * Another form chooses an operation by the bytes of a tensor, as `dtrain run --algorithms` does:
   * "reduction_to_one:64k:all_reduce:16m:@mine", also with hierarchical_copy and nccl_all_reduce.
   * Each limit is that of the operation before it. @mine is an algorithm that the program registers
   * by dtrain_register_algorithm. Its ranks are the replicas, each with one buffer. Where only one
   * replica gets the result, that replica reduces alone. */
  const char* cross_device_op;
  /* Between workers, gradients of one type are sent in packs of about so many bytes. 0:
   * DTRAIN_BYTES_PER_PACK, else each alone, or small ones together. The algorithm is that of
   * `dtrain run --algorithms`. */
  size_t bytes_per_pack;
  /* The limit of each operation between workers. An operation that reaches it ends the strategy. 0:
   * DTRAIN_STRATEGY_TIMEOUT, else none. While NCCL connects the workers, it has 120 s. */
  int timeout_ms;
  int asynchronous; /* 1: as ps_mode "async" */
  /* For parameter_server. NULL: DTRAIN_PS_MODE, else "sync". - "sync": A step averages the pushes
   * of all workers. - "sync:N": A step averages the first N pushes; later ones have no effect. -
   * "async": Servers take each push at once, and workers do not wait for each other. -
   * "local-async": The workers of a host reduce their gradients first, and one of them pushes.
   * Other reductions are over the host, too. The workers join as those of multi_worker_mirrored,
   * whose collectives the death of any rank ends. - "bounded:N": As "async", but a worker waits
   * while it is more than N pushes ahead of another. */
  const char* ps_mode;
  /* For multi_worker_mirrored: "auto", "ring" (libdtrain's engine) or "nccl", which needs GPUs and
   * NVIDIA's NCCL. "nccl" is DTRAIN_DEVICE_COLLECTIVES=nccl for these workers alone
   * (dtrain_device.h). The strategy is made when NCCL has connected them. It fails where NCCL
   * cannot, and a failure of NCCL in a step ends the context, too. Where NCCL also runs the job's
   * own collectives, none of them may be called meanwhile. The engine also takes some reductions of
   * "nccl": those of 16-bit integers, booleans and 8-bit floats, the minimum and maximum of other
   * floats, and lists with such a tensor. NULL: DTRAIN_COMMUNICATION, else "auto", which is the
   * engine. */
  const char* communication;
  /* 1: a device of the CPU replaces a named device that does not exist. 0: DTRAIN_SOFT_PLACEMENT.
   * */
  int soft_placement;
  /* 1: print the lines of dtrain_strategy_placement on standard error. 0: DTRAIN_LOG_PLACEMENT. */
  int log_placement;
  /* The most bytes that the strategy's variables, reductions and prefetched batches may have on
   * each device. 0: DTRAIN_DEVICE_MEMORY, else no limit. */
  size_t device_memory;
} dtrain_strategy_options;

/* Makes a strategy for the ranks of the context. Without a context (NULL), the strategy joins the
 * job by itself as dtrain_init does. For parameter_server, it joins as dtrain_ps_connect does, and
 * takes no context. A collective: all ranks make the same strategy, with equally many devices.
 * Fails at every rank when one of them cannot, or differs; the text names that rank. An
 * asynchronous worker of parameter servers waits for rank 0 alone, and compares its options with
 * those of rank 0. Errors: _INPUT, _MISMATCH, _TIMEOUT, and those of a collective. The caller frees
 * the strategy with dtrain_strategy_free, before the context. */
DTRAIN_API dtrain_strategy* dtrain_strategy_create(dtrain_context* context,
                                                   const dtrain_strategy_options* options,
                                                   dtrain_error* error);
/* Frees the strategy with its variables. NULL does nothing. */
DTRAIN_API void dtrain_strategy_free(dtrain_strategy* strategy);

/* The name, as "mirrored"; the strategy owns it. */
DTRAIN_API const char* dtrain_strategy_name(const dtrain_strategy* strategy);
/* The number of replicas: of all workers, and of this process. -1 if strategy is NULL. */
DTRAIN_API int dtrain_strategy_replicas(const dtrain_strategy* strategy);
DTRAIN_API int dtrain_strategy_local_replicas(const dtrain_strategy* strategy);
/* The number of this process's first replica. */
DTRAIN_API int dtrain_strategy_first_replica(const dtrain_strategy* strategy);
/* 1 in the process that reports and writes checkpoints: rank 0; else 0. */
DTRAIN_API int dtrain_strategy_is_chief(const dtrain_strategy* strategy);
/* The number of this process among the workers, and their number. -1 if strategy is NULL. */
DTRAIN_API int dtrain_strategy_worker(const dtrain_strategy* strategy);
DTRAIN_API int dtrain_strategy_workers(const dtrain_strategy* strategy);
/* The device of one of this process's replicas, as "cpu:1"; NULL if there is no such replica. */
DTRAIN_API const char* dtrain_strategy_device(const dtrain_strategy* strategy, int local_replica);
/* Writes where the replicas and variables are, a line each, and which devices the CPU replaces.
 * Returns the length of the whole text; cuts it to `size` bytes with its NUL. */
DTRAIN_API size_t dtrain_strategy_placement(const dtrain_strategy* strategy, char* text,
                                            size_t size);
/* The context of the strategy's workers, for collectives beside its own. Owned by the strategy. */
DTRAIN_API dtrain_context* dtrain_strategy_context(const dtrain_strategy* strategy);

/* ---- Variables ---- */

/* When the copies of a variable are made equal. */
enum dtrain_synchronization {
  DTRAIN_ON_WRITE = 0, /* they always are: a write gives all copies one value */
  DTRAIN_ON_READ = 1   /* each replica has a value of its own; a read aggregates them */
};

/* How the values of replicas become one. */
enum dtrain_aggregation {
  DTRAIN_AGGREGATE_SUM = 0,
  DTRAIN_AGGREGATE_MEAN = 1,
  DTRAIN_AGGREGATE_FIRST_REPLICA = 2 /* the value of replica 0 */
};

typedef struct dtrain_variable_options {
  size_t struct_size;  /* sizeof(dtrain_variable_options) */
  const char* name;    /* unique in the strategy, for checkpoints and errors; 1 to 255 bytes */
  size_t count;        /* elements */
  dtrain_type type;    /* but not DTRAIN_OPAQUE */
  const void* initial; /* `count` elements in memory of the host; those of rank 0 count. NULL: 0 */
  int synchronization; /* enum dtrain_synchronization */
  int aggregation;     /* enum dtrain_aggregation */
  /* 1: a number of an optimiser, which changes only in updates of another variable. Under
   * parameter_server, each worker has its own, and a checkpoint has those of rank 0. */
  int slot;
  /* The device of the only copy: that of one of this process's replicas, which updates the copy, or
   * "cpu", memory of the host. All replicas use that copy. NULL: the strategy decides. Not for
   * variables that are synchronized on read. With soft_placement, the host replaces a device that
   * no replica has. */
  const char* device;
} dtrain_variable_options;

/* Makes a variable. The mirrored strategies keep a copy on each replica's device; central_storage
 * keeps one for all. A variable that is synchronized on read has a copy on each device in any case.
 * A collective. Fails with _INPUT for a name that exists. Fails with _MISMATCH where ranks differ
 * in type or count. Fails with _SYSTEM when a device has too little memory. The strategy owns the
 * variable. */
DTRAIN_API int dtrain_variable_create(dtrain_strategy* strategy,
                                      const dtrain_variable_options* options,
                                      dtrain_variable** variable, dtrain_error* error);
/* *to = the value in memory of the host. For ON_READ, this is the aggregate over all replicas, and
 * the call is a collective. Not within a step. */
DTRAIN_API int dtrain_variable_read(dtrain_variable* variable, void* to, dtrain_error* error);
/* Sets the value on all replicas to that of rank 0. For ON_READ with SUM, replica 0 gets the value,
 * and the others 0. A collective. Not within a step. */
DTRAIN_API int dtrain_variable_write(dtrain_variable* variable, const void* from,
                                     dtrain_error* error);

/* ---- Steps ---- */

/* The step of one replica. Returns 0. Another number is a failure, whose text the step sets before
 * by dtrain_replica_fail. */
typedef int (*dtrain_replica_step)(dtrain_replica* replica, void* argument);

/* Runs the step on each replica of this process, each on a thread; the calling thread runs the
 * first. Returns when all have ended. If one fails, the others are ended at their next collective,
 * here and at the other workers; the error names the replica. Between workers, this ends the
 * strategy, whose later calls fail with that error. */
DTRAIN_API int dtrain_strategy_run(dtrain_strategy* strategy, dtrain_replica_step step,
                                   void* argument, dtrain_error* error);

/* The replica's number among all, and in this process. */
DTRAIN_API int dtrain_replica_index(const dtrain_replica* replica);
DTRAIN_API int dtrain_replica_local_index(const dtrain_replica* replica);
/* Sets the text of a failure. The step returns after it. */
DTRAIN_API void dtrain_replica_fail(dtrain_replica* replica, const char* text);
/* The memory of the variable's copy that this replica uses. The replica may read it, and write it
 * in an update; for ON_READ it may write at any time. NULL for a variable of another strategy. On a
 * CPU device it is ordinary memory. */
DTRAIN_API void* dtrain_replica_data(dtrain_replica* replica, dtrain_variable* variable);

/* Replaces each tensor's `output` by the reduction over all replicas (op of dtrain_op, but
 * not ADASUM). Each replica gives equally many tensors, of equal counts and types, in memory of the
 * host or of its device. `input` must be NULL. Blocks until all replicas have called it. */
DTRAIN_API int dtrain_replica_all_reduce(dtrain_replica* replica, const dtrain_buffers* tensors,
                                         size_t count, dtrain_op op, dtrain_error* error);

/* A gradient, with the elements and the type of its variable. */
typedef struct dtrain_gradient {
  dtrain_variable* variable;
  void* gradient; /* in memory of the host or of the replica's device; it gets the reduced one */
} dtrain_gradient;

/* A list of gradients, read during the call. */
typedef struct dtrain_gradient_list {
  const dtrain_gradient* gradients;
  size_t count;
  dtrain_op op;
} dtrain_gradient_list;

/* Changes the variable of gradient `index` in dtrain_replica_data by the reduced gradient. Returns
 * as a step does. */
typedef int (*dtrain_update)(dtrain_replica* replica, size_t index, void* argument);

/* Reduces the gradients over all replicas. Then calls `update` once for each copy of each variable,
 * in the order of the list, on the replica that has the copy. Returns when all copies that this
 * replica uses are updated. */
DTRAIN_API int dtrain_replica_apply(dtrain_replica* replica, const dtrain_gradient_list* list,
                                    dtrain_update update, void* argument, dtrain_error* error);

/* Sets an ON_WRITE variable on all replicas to the aggregate of the values that all replicas give,
 * in memory of the host. */
DTRAIN_API int dtrain_replica_assign(dtrain_replica* replica, dtrain_variable* variable,
                                     const void* value, dtrain_error* error);

/* ---- Prefetching ---- */

/* Memory of a device that a thread fills ahead of the steps that use it. */
typedef struct dtrain_prefetch dtrain_prefetch;
#define DTRAIN_FILL_FAILED ((size_t) - 1)
/* Writes a batch to `into`, in memory of the host, and returns its bytes. Returns 0 when the data
 * has ended, and DTRAIN_FILL_FAILED after a failure. One thread of the library calls it, batch
 * after batch. */
typedef size_t (*dtrain_fill)(void* into, void* argument);

typedef struct dtrain_prefetch_options {
  size_t struct_size; /* sizeof(dtrain_prefetch_options) */
  int local_replica;  /* its device gets the batches */
  size_t bytes;       /* of a batch, at most */
  size_t depth;       /* batches that are filled ahead; 0: 2 */
  dtrain_fill fill;
  void* argument; /* for `fill` */
} dtrain_prefetch_options;

/* Begins to fill batches. Free the prefetch before the strategy. Errors: _INPUT, _SYSTEM (too
 * little memory). */
DTRAIN_API dtrain_prefetch* dtrain_prefetch_create(dtrain_strategy* strategy,
                                                   const dtrain_prefetch_options* options,
                                                   dtrain_error* error);
/* *data = the next batch in memory of the device, valid until the next call; *bytes = 0 at the end
 * of the data. For one thread at a time, also within a step. Fails with _SYSTEM after a failure of
 * `fill`. */
DTRAIN_API int dtrain_prefetch_next(dtrain_prefetch* prefetch, const void** data, size_t* bytes,
                                    dtrain_error* error);
/* Waits for `fill`, and frees the batches. NULL does nothing. */
DTRAIN_API void dtrain_prefetch_free(dtrain_prefetch* prefetch);

/* ---- Between steps ---- */

/* Reduces one array of each local replica, in memory of the host, over all replicas to `output`.
 * A collective. */
DTRAIN_API int dtrain_strategy_reduce(dtrain_strategy* strategy, const void* const* inputs,
                                      dtrain_buffers output, dtrain_op op, dtrain_error* error);

/* Writes all variables to a file. Rank 0 writes it, and the file gets its name only when it is
 * complete on the disk. A collective; fails at every rank when the file cannot be written. */
DTRAIN_API int dtrain_strategy_save(dtrain_strategy* strategy, const char* path,
                                    dtrain_error* error);
/* Sets all variables to those of the file, which rank 0 reads. The file may be of any strategy and
 * any number of replicas. A collective. Fails with _INPUT at every rank, and changes nothing, when
 * the file is no checkpoint, or is incomplete or damaged. The same holds when a variable is missing
 * there, or has another type or count. */
DTRAIN_API int dtrain_strategy_restore(dtrain_strategy* strategy, const char* path,
                                       dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
