#pragma once

/*
 * libdtrain: parameter servers. Programs include this header beside dtrain.h. Its rules for status,
 * errors, structs and fork hold here, too.
 *
 * The tasks of role ps hold the variables. The workers push gradients to them, and pull values:
 *
 *   dtrain run --role ps=2 --role worker=4 --strategy parameter_server ./train
 *
 * A server is `dtrain ps`, or any program that calls dtrain_ps_serve. A worker needs no
 * dtrain_init, and waits for no other worker: each may begin later than others, and others continue
 * after its end.
 *
 * A worker that `dtrain run --restart-role` restarts connects again as its next attempt
 * (DTRAIN_ATTEMPT), gets the servers' values, and takes part from then on. Servers refuse requests
 * of the attempt before. A barrier waits for the restarted worker. With bounded staleness, no
 * worker waits for steps that a restarted one repeats. The restarted worker has no collectives,
 * because dtrain_init fails for a restarted rank.
 */

#include "dtrain.h"

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Serving ---- */

/* If all fields but struct_size are zero, the environment that `dtrain run` sets decides, and no
 * checkpoints are made. */
typedef struct dtrain_ps_serve_options {
  size_t struct_size;                  /* sizeof(dtrain_ps_serve_options) */
  const dtrain_init_options* identity; /* of this task; NULL: the environment has it */
  /* The beginning of the names of the files in which servers keep their variables: "/data/model"
   * gives "/data/model-100.ps-0-of-2" after 100 steps. NULL: none. A server that starts restores
   * the newest step of which all servers have a file. Each server keeps its last three files, and
   * older ones until all servers have a newer one in common. After a load of an earlier step, it
   * renames the files of later ones to "/data/model-200.ps-0-of-2.put-aside". */
  const char* checkpoint;
  int64_t checkpoint_every; /* steps; 0: only at the end */
  int stop_fd;              /* the server ends when this descriptor is readable; 0: none */
  /* Receives reports and warnings, one sentence each, within the call of dtrain_ps_serve; may be
   * NULL. */
  void (*report)(const char* text, void* data);
  void* report_data; /* for `report` */
  /* The copies of each variable, on as many servers: 1 or 2; 0: DTRAIN_PS_REPLICAS, which `dtrain
   * run --ps-replicas` sets, else 1. With 2, the next server, by index in a ring, carries out all
   * requests that this one does, and takes over when this one dies. A push returns when both have
   * it. Each server then uses the memory of two. A server dies without loss while its neighbours in
   * the ring live. All servers and workers must give the same number. */
  int replicas;
} dtrain_ps_serve_options;

/* Serves variables until all tasks with a rank have died or left, or until stop_fd is readable.
 * Then makes the last checkpoint. A worker that is to be restarted counts as living. This thread
 * carries out the requests, one after the other, and sleeps while there is none.
 *
 * Fails as dtrain_init does, and with:
 * - _INPUT for wrong options or a wrong environment, for a task with a rank, and for a restarted
 *   server that is not the only one. Also for checkpoints that have no step in common, and for a
 *   folder in which none can be made.
 * - _PROTOCOL for a checkpoint that is damaged, cut short or foreign.
 * - _MISMATCH for a checkpoint of another number of servers.
 * - _CLOSED when the launcher is lost.
 * - _PEER_LOST when a server that keeps copies of this one's variables died before it had them, or
 *   its connection broke while it lives. */
DTRAIN_API int dtrain_ps_serve(const dtrain_ps_serve_options* options, dtrain_error* error);

/* ---- Connecting ---- */

/* The server of each shard of a variable. */
enum dtrain_ps_placement {
  DTRAIN_PS_LPT = 0,         /* the largest shards of a declaration first, each to the server with
                                the fewest bytes */
  DTRAIN_PS_ROUND_ROBIN = 1, /* in turn, in the order of declaration, as TensorFlow */
  DTRAIN_PS_GREEDY = 2,      /* to the server with the fewest bytes, in the order of declaration, as
                                TensorFlow's GreedyLoadBalancingStrategy by bytes */
  DTRAIN_PS_HASH = 3         /* by name alone */
};

/* All workers must give the same placement and shards. */
typedef struct dtrain_ps_options {
  size_t struct_size;                  /* sizeof(dtrain_ps_options) */
  const dtrain_init_options* identity; /* of this task; NULL: the environment has it */
  const char* role;                    /* of the servers; NULL: "ps" */
  int timeout_ms;                      /* until all servers serve; 0: 300,000 */
  int call_timeout_ms;                 /* of each later call; 0: no limit */
  int placement;                       /* enum dtrain_ps_placement */
  /* The rows of a variable, its first dimension, are divided evenly into shards. The first of these
   * fields that is not 0 decides. If all are 0, shard_bytes_min is 262,144. */
  int shards;             /* so many */
  size_t shard_bytes_max; /* shards of at most so many bytes */
  size_t shard_bytes_min; /* one for each server, of at least so many bytes each; 1 row at least */
  /* The context of dtrain_init, if this process uses collectives, too, because a task joins its job
   * once. The context must stay until dtrain_ps_close. NULL: the process has none. A rank's death
   * ends the context's collectives, and no call of the parameter servers. */
  dtrain_context* context;
  int replicas; /* as that of dtrain_ps_serve_options */
} dtrain_ps_options;

/* The connections of this task to all parameter servers. */
typedef struct dtrain_ps dtrain_ps;

/* Connects to all tasks of the servers' role.
 *
 * Fails as dtrain_init does, and with:
 * - _INPUT for wrong options or a wrong environment, and for a job without such tasks.
 * - _TIMEOUT when a server does not serve; the text names it.
 * - _PEER_LOST when a server died.
 * - _MISMATCH when the servers keep another number of replicas. */
DTRAIN_API dtrain_ps* dtrain_ps_connect(const dtrain_ps_options* options, dtrain_error* error);
/* Leaves the servers, and frees the handle; NULL does nothing. Waits at most 2 s. */
DTRAIN_API void dtrain_ps_close(dtrain_ps* ps);

/* The calls below block. Any thread may make them; they run one after the other.
 *
 * With two replicas, a call continues when a server dies: it repeats, at the other server, each
 * request without a reply. No push is lost or counted twice.
 *
 * All of them fail with _INPUT for wrong arguments, and with _TIMEOUT when call_timeout_ms has
 * passed. They fail with _PEER_LOST when the launcher is lost, or when a server died whose
 * variables no other server has; the text names it. After _TIMEOUT and _PEER_LOST, all later calls
 * fail. After any other error the handle stays usable, and the call has had no effect. */

/* ---- Variables ---- */

/* The rule by which servers change a variable. The formulas are those of TensorFlow's kernels
 * (core/kernels/training_ops.cc), in the variable's type. */
enum dtrain_ps_optimizer {
  DTRAIN_PS_SGD = 0,
  DTRAIN_PS_MOMENTUM = 1,
  DTRAIN_PS_ADAGRAD = 2,
  DTRAIN_PS_RMS_PROP = 3,
  DTRAIN_PS_ADAM = 4,
  DTRAIN_PS_FTRL = 5
};

typedef struct dtrain_ps_variable {
  size_t struct_size;  /* sizeof(dtrain_ps_variable) */
  const char* name;    /* 1 to 250 bytes */
  const size_t* shape; /* the sizes of the dimensions, none of them 0; may be NULL if dims is 0 */
  int dims;            /* 0 (a single number) to 16 */
  int type;            /* DTRAIN_FLOAT32, or 0 for it, or DTRAIN_FLOAT64 */
  const void* initial; /* the values; NULL: zeros. The servers take the first rank's */
  int optimizer;       /* enum dtrain_ps_optimizer */
  int nesterov;        /* 1: of momentum */
  /* For each of these, 0 is the default. */
  double learning_rate;       /* 0.01 */
  double momentum;            /* 0; also of rms_prop */
  double decay;               /* of rms_prop: 0.9 */
  double beta1;               /* of adam: 0.9 */
  double beta2;               /* of adam: 0.999 */
  double epsilon;             /* of adam: 1e-8, of rms_prop: 1e-10 */
  double initial_accumulator; /* of adagrad and ftrl: 0.1 */
  double l1;                  /* of ftrl: 0 */
  double l2;                  /* of ftrl: 0 */
  double learning_rate_power; /* of ftrl: -0.5 */
} dtrain_ps_variable;

/* Declares variables. Returns when they have their initial values, which the first rank gives.
 * Every worker declares the same variables in one order, in calls of the same lists.
 *
 * Fails with _MISMATCH when another worker has declared or placed a variable differently; the text
 * names the variable and both workers. Fails with _REFUSED when a server has too little memory.
 * Fails with _PEER_LOST also when the first rank ended before it gave the values. */
DTRAIN_API int dtrain_ps_declare(dtrain_ps* ps, const dtrain_ps_variable* variables, size_t count,
                                 dtrain_error* error);
/* Writes the place of each shard, and the bytes of each server, as text. Returns the length of the
 * whole text; cuts it to `size` bytes with its NUL. */
DTRAIN_API size_t dtrain_ps_table(dtrain_ps* ps, char* text, size_t size);

/* The memory of one variable in a call; this struct will never get further fields. */
typedef struct dtrain_ps_array {
  const char* name;
  const void* gradient; /* not read by dtrain_ps_pull */
  void* values;         /* not written by dtrain_ps_push */
  size_t count;         /* of numbers in each of them */
  const int64_t* rows;  /* the rows that they have, in any order; NULL: all. Gradients of a row that
                           is listed twice are added */
  size_t row_count;
} dtrain_ps_array;
typedef struct dtrain_ps_arrays {
  const dtrain_ps_array* items;
  size_t count;
} dtrain_ps_arrays;

typedef struct dtrain_ps_push_options {
  size_t struct_size;   /* sizeof(dtrain_ps_push_options) */
  double learning_rate; /* of all variables in this push; 0: that of each variable */
  double clip_norm;     /* scales all gradients together so that the norm of all of them is at most
                           this; 0: not. Not if the norm is no finite number: _INPUT */
} dtrain_ps_push_options;

/* The result of a push. Set struct_size before the call. */
typedef struct dtrain_ps_pushed {
  size_t struct_size; /* sizeof(dtrain_ps_pushed) */
  int counted;        /* 0: it came too late for its synchronous step, and has had no effect */
  int64_t step;       /* of the servers, after the push */
  double norm;        /* of the gradients before clipping; 0 without clip_norm */
} dtrain_ps_pushed;

/* Pushes gradients. `options` and `pushed` may be NULL. When it returns, all servers have the
 * gradients; in the synchronous mode, the step is complete.
 *
 * Fails with _PEER_LOST also when too few workers are left for a synchronous step. The text then
 * names one that is gone, and the handle stays usable. */
DTRAIN_API int dtrain_ps_push(dtrain_ps* ps, dtrain_ps_arrays arrays,
                              const dtrain_ps_push_options* options, dtrain_ps_pushed* pushed,
                              dtrain_error* error);
/* Pushes gradients, and returns the values afterwards. In the asynchronous mode, this is one round
 * trip. When it fails, the values are undefined, as in dtrain_ps_pull. */
DTRAIN_API int dtrain_ps_push_pull(dtrain_ps* ps, dtrain_ps_arrays arrays,
                                   const dtrain_ps_push_options* options, dtrain_ps_pushed* pushed,
                                   dtrain_error* error);
/* Gets values. *step, which may be NULL, is the servers' step. */
DTRAIN_API int dtrain_ps_pull(dtrain_ps* ps, dtrain_ps_arrays arrays, int64_t* step,
                              dtrain_error* error);

/* ---- Steps ---- */

/* When pushes change the variables. */
enum dtrain_ps_mode {
  /* At once, each by itself. */
  DTRAIN_PS_ASYNC = 0,
  /* Each step averages the gradients of the first `count` workers that push; these are the same for
   * all variables. A later push for this step has no effect. With `count` below the number of
   * workers, the others are spare. Such a step does not wait for workers in a barrier, or for some
   * that have closed their connections. 0: all workers. */
  DTRAIN_PS_SYNC = 1,
  /* At once. The push returns when no other worker is more than `count` pushes behind. */
  DTRAIN_PS_BOUNDED = 2
};

/* Sets the mode of all workers; any of them may call it at any time. Pushes of others that wait for
 * a synchronous step are repeated in the new mode. Servers begin with DTRAIN_PS_ASYNC. */
DTRAIN_API int dtrain_ps_set_mode(dtrain_ps* ps, int mode, int count, dtrain_error* error);
/* *step = the number of pushes and synchronous steps so far, with those of a restored checkpoint.
 */
DTRAIN_API int dtrain_ps_step(dtrain_ps* ps, int64_t* step, dtrain_error* error);
/* Returns when all workers that live have called it. */
DTRAIN_API int dtrain_ps_barrier(dtrain_ps* ps, dtrain_error* error);

/* ---- Checkpoints and counts ---- */

/* Each server writes its variables, with the numbers of their optimisers, to a file of its own on
 * its host: "PATH.ps-0-of-2". A file is written whole or not at all. The files of several servers
 * belong to one step if no worker pushes meanwhile, which a barrier or the synchronous mode
 * ensures. */
DTRAIN_API int dtrain_ps_save(dtrain_ps* ps, const char* path, dtrain_error* error);
/* Restores these files once all servers have checked theirs. *step, which may be NULL, is their
 * step. Fails with _PROTOCOL for a file that is damaged, cut short or foreign. Fails with _MISMATCH
 * for another number of servers, other variables, and files of different steps. Nothing is changed
 * then. */
DTRAIN_API int dtrain_ps_load(dtrain_ps* ps, const char* path, int64_t* step, dtrain_error* error);

#define DTRAIN_PS_BUCKETS 16
/* Counts of the job. Set struct_size before the call. */
typedef struct dtrain_ps_statistics {
  size_t struct_size; /* sizeof(dtrain_ps_statistics) */
  int64_t pushes;     /* of all workers, that have had an effect */
  int64_t stale;      /* pushes that came too late for their step */
  int64_t bytes;      /* of values and of the optimisers' numbers, on all servers */
  /* Counts of pushes by staleness: the number of steps between the pull of their values and their
   * effect. The elements are for 0, 1, 2-3, 4-7, and so on. */
  int64_t staleness[DTRAIN_PS_BUCKETS];
  int64_t own_pushes; /* of this worker */
  int64_t own_stale;
} dtrain_ps_statistics;
DTRAIN_API int dtrain_ps_count(dtrain_ps* ps, dtrain_ps_statistics* statistics,
                               dtrain_error* error);

/* ---- The cluster of --cluster_spec ---- */

/* The addresses of a job's tasks, in the syntax of TensorFlow's grpc_tensorflow_server:
 * "worker|host:port;host:port,ps|host:port". `dtrain run` writes it for {cluster_spec}. */
typedef struct dtrain_cluster dtrain_cluster;

/* Fails with _INPUT for a job without tasks, and for an address that is wrong or that two tasks
 * have. Also fails for a text that a shell has cut at | or ;. The error's text names the fault. */
DTRAIN_API dtrain_cluster* dtrain_cluster_parse(const char* text, dtrain_error* error);
/* NULL does nothing. */
DTRAIN_API void dtrain_cluster_free(dtrain_cluster* cluster);
/* Returns the number of the job's tasks; 0 if there is no such job. */
DTRAIN_API int dtrain_cluster_tasks(const dtrain_cluster* cluster, const char* job);
/* Returns "host:port", which the cluster owns; NULL if there is no such task. */
DTRAIN_API const char* dtrain_cluster_address(const dtrain_cluster* cluster, const char* job,
                                              int task);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
