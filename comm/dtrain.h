#ifndef DTRAIN_H
#define DTRAIN_H

/*
 * libdtrain: collectives and a store for the processes that `dtrain run` started.
 *
 *   dtrain_error error = {.struct_size = sizeof error};
 *   dtrain_context* world = dtrain_init(NULL, &error);
 *   dtrain_buffers gradients = {.output = g, .count = n, .type = DTRAIN_FLOAT32};
 *   if (dtrain_all_reduce(world, gradients, DTRAIN_AVERAGE, NULL, &error) != DTRAIN_OK)
 *     puts(error.text);
 *   dtrain_finalize(world);
 *
 * Status: functions that can fail return DTRAIN_OK or one of dtrain_status, or NULL where they
 * return a handle. They then fill the caller's dtrain_error, which may be NULL. The library prints
 * nothing, installs no signal handler, and throws no exception to its caller.
 *
 * Threads: any thread may call any function, also several at once. dtrain_finalize and
 * dtrain_work_free are different: each must be the last use of its handle. Collectives match by the
 * order of each rank's calls, so every rank must call them in the same order. pthread_cancel of a
 * thread in a call takes effect after the call.
 *
 * fork: a child must not use its parent's handles; each call fails with DTRAIN_ERROR_INPUT there.
 * It may call exec, or _exit.
 *
 * Later versions append fields to the structs that have a `struct_size`. By its value the library
 * knows which fields the caller has. A field that is zero has its default. dtrain_buffers has no
 * struct_size: it is passed by value and will never change.
 */

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DTRAIN_API __attribute__((visibility("default")))
#else
#define DTRAIN_API
#endif

/* The outcome of a call; error.text describes it. */
enum dtrain_status {
  DTRAIN_OK = 0,
  /* dtrain_work_wait: not done yet; no failure. */
  DTRAIN_PENDING = -1,
  /* An argument or the environment is wrong; other ranks are not informed. */
  DTRAIN_ERROR_INPUT = 1,
  /* A system call failed, or memory ran out. */
  DTRAIN_ERROR_SYSTEM = 2,
  /* The rendezvous or a peer cannot be reached. */
  DTRAIN_ERROR_UNREACHABLE = 3,
  /* The rendezvous or a peer refused. */
  DTRAIN_ERROR_REFUSED = 4,
  /* The context was finalized; in dtrain_init: the launcher is lost. */
  DTRAIN_ERROR_CLOSED = 5,
  /* A time limit passed. */
  DTRAIN_ERROR_TIMEOUT = 6,
  /* Received bytes that no libdtrain of this version sends. */
  DTRAIN_ERROR_PROTOCOL = 7,
  /* Ranks disagree about an operation; the context stays usable. */
  DTRAIN_ERROR_MISMATCH = 8,
  /* A task died, or left while it was needed, or the launcher is lost. */
  DTRAIN_ERROR_PEER_LOST = 9
};

/* Receives the reason of a failure. Set struct_size = sizeof(dtrain_error) before the call. */
typedef struct dtrain_error {
  size_t struct_size;
  int code;       /* enum dtrain_status */
  int rank;       /* the rank to blame, or -1 */
  char text[512]; /* one sentence, NUL-terminated UTF-8, cut if longer */
} dtrain_error;

/* The library's version, such as "0.1.0". Static; never NULL. */
DTRAIN_API const char* dtrain_version(void);

/* ---- Joining ---- */

enum dtrain_transport {
  DTRAIN_TRANSPORT_AUTO = 0, /* shared memory between ranks of one host, TCP between hosts */
  DTRAIN_TRANSPORT_SHM = 1,  /* shared memory only: dtrain_init fails if ranks are on two hosts */
  DTRAIN_TRANSPORT_TCP = 2   /* TCP only */
};

/* How to join. If all fields but struct_size are zero, the environment that `dtrain run` sets
 * decides. */
typedef struct dtrain_init_options {
  size_t struct_size;     /* sizeof(dtrain_init_options) */
  const char* role;       /* for example "worker"; NULL: the environment has the identity, and the
                             next five fields are not read */
  int task_index;         /* from 0, within the role */
  const char* rendezvous; /* "IP:PORT", IPv6 in brackets */
  const char* token;      /* 64 hex digits */
  const char* job;        /* the job's id */
  uint32_t generation;    /* of the job */
  int transport;          /* enum dtrain_transport */
  int timeout_ms;         /* for all ranks to join; 0: 300,000 */
  int dead_after_ms;      /* how long a broken connection waits for the launcher's notice before its
                             peer is blamed; 0: the value of dtrain run --dead-after */
} dtrain_init_options;

/* All ranks of a job, seen from one of them. */
typedef struct dtrain_context dtrain_context;

/* Joins the other ranks and returns when all have joined. Without options, or with options->role
 * NULL, the variables DTRAIN_ROLE, _TASK_INDEX, _JOB_ID, _GENERATION, _RENDEZVOUS and _TOKEN
 * decide. If all are set, the process joins. If none is set, it is alone: rank 0 of size 1, without
 * network. If some are set, it fails and names the missing ones. DTRAIN_RANK and DTRAIN_SIZE must
 * agree with the job if they are set.
 *
 * A rank has one descriptor for each rank on another host, and two for each on its own. If the soft
 * limit of open files (RLIMIT_NOFILE) is too low for them, dtrain_init raises it, only as far as
 * necessary. If the hard limit is too low, it fails at once.
 *
 * Errors: _INPUT (options, environment, a task without rank, the hard limit of open files),
 * _UNREACHABLE and _REFUSED (rendezvous or peer; a token that does not match), _TIMEOUT (the text
 * names the missing tasks), _PEER_LOST (a rank died first), _CLOSED (the launcher was lost first),
 * _PROTOCOL (the other side is no libdtrain or dtrain of this version), _SYSTEM. The caller owns
 * the context and ends it with dtrain_finalize. */
DTRAIN_API dtrain_context* dtrain_init(const dtrain_init_options* options, dtrain_error* error);

/* Leaves the job, or the group, and frees the context, also after an error; NULL does nothing.
 * Pending operations fail with DTRAIN_ERROR_CLOSED. When it returns, no buffer is in use any more.
 * It waits, 2 s at most, until the other ranks have received what this rank has sent. Works stay
 * valid until they are freed. */
DTRAIN_API void dtrain_finalize(dtrain_context* context);

/* This rank's numbers. local: among the ranks of this host; cross: the index of this host among the
 * hosts that have this local rank. -1 if context is NULL. */
DTRAIN_API int dtrain_rank(const dtrain_context* context);
DTRAIN_API int dtrain_size(const dtrain_context* context);
DTRAIN_API int dtrain_local_rank(const dtrain_context* context);
DTRAIN_API int dtrain_local_size(const dtrain_context* context);
DTRAIN_API int dtrain_cross_rank(const dtrain_context* context);
DTRAIN_API int dtrain_cross_size(const dtrain_context* context);
/* The name of this rank's host as the job knows it; the context owns it. */
DTRAIN_API const char* dtrain_host(const dtrain_context* context);

/* Writes the algorithms of the context's collectives in the form of `dtrain run --algorithms`:
 * "all_reduce=tree:16k:ring,broadcast=tree" and so on for each operation, with limits in bytes of
 * the call's `count` elements. "shm" stands for collectives in shared memory, which have no limits.
 * Ends the text with NUL and cuts it to `size` bytes; `text` may be NULL if `size` is 0. Returns
 * the length of the whole text, or 0 if context is NULL, finalized or that of a forked parent. */
DTRAIN_API size_t dtrain_algorithms(dtrain_context* context, char* text, size_t size);

/* ---- Operations ---- */

/* Element types. 16-bit floats are added and multiplied in float32. The numbers 11 to 31 stay free
 * for further types, such as int16, uint16, bool and 8-bit floats. */
enum dtrain_type {
  DTRAIN_INT8 = 1,
  DTRAIN_UINT8 = 2,
  DTRAIN_INT32 = 3,
  DTRAIN_UINT32 = 4,
  DTRAIN_INT64 = 5,
  DTRAIN_UINT64 = 6,
  DTRAIN_FLOAT16 = 7, /* IEEE 754 binary16 */
  DTRAIN_BFLOAT16 = 8,
  DTRAIN_FLOAT32 = 9,
  DTRAIN_FLOAT64 = 10
};

enum dtrain_reduce_op {
  DTRAIN_SUM = 0,
  DTRAIN_AVERAGE = 1, /* the sum divided by the number of ranks; for integers, the sum in their own
                         width, which wraps, divided toward zero */
  DTRAIN_MIN = 2,
  DTRAIN_MAX = 3,
  DTRAIN_PRODUCT = 4
};

/* The memory of one operation; this struct will never get further fields. The memory belongs to the
 * caller, and must stay valid and unchanged until the operation is done. `count` is in elements and
 * may be 0. Pointers must be aligned for the type. */
typedef struct dtrain_buffers {
  const void* input; /* NULL where an operation allows it: `output` holds the input */
  void* output;      /* may equal input; may not overlap it otherwise */
  size_t count;
  int type; /* enum dtrain_type */
} dtrain_buffers;

/* The reduction and the root of dtrain_reduce; this struct will never get further fields. */
typedef struct dtrain_rooted_op {
  int op; /* enum dtrain_reduce_op */
  int root;
} dtrain_rooted_op;

/* A NULL pointer to it means: unnamed, no time limit. */
typedef struct dtrain_op_options {
  size_t struct_size; /* sizeof(dtrain_op_options) */
  const char* name;   /* for messages; ranks whose names differ get DTRAIN_ERROR_MISMATCH. Copied.
                         NULL: unnamed */
  int timeout_ms;     /* 0: no limit (a death still ends it) */
} dtrain_op_options;

/* Each of these blocks until the operation is done on this rank, and returns its status. Results
 * have the same bits on every rank. Errors that all of them have:
 *
 * _INPUT: a NULL or unaligned pointer, an unknown type or op, a rank out of range, counts that are
 * too large. Nothing was sent; the other ranks still wait.
 *
 * _MISMATCH: ranks called different collectives, or with another count, type, op, root or name.
 * Every rank gets it, also when the collective has a root, and error.rank is one that differs. What
 * `output` holds is then undefined. Or a send and its receive differ in count, type or name. Both
 * ends get it, and no other rank. The context stays usable.
 *
 * _TIMEOUT: options->timeout_ms passed. A collective's timeout ends it and all later collectives on
 * every rank; sends and receives continue. A send or receive that timed out ends alone. If a
 * receive times out before its message begins to arrive, the next receive from that rank gets the
 * message.
 *
 * _PEER_LOST: a rank died, or left while it was needed, or the launcher is lost; error.text names
 * rank, host and cause. After a death or the launcher's loss all operations fail, now and later.
 * After a leave, collectives fail, and sends to and receives from that rank. Those between other
 * ranks continue.
 *
 * _SYSTEM: memory ran out. All operations of this rank fail, now and later. Those of other ranks
 * fail with _PEER_LOST.
 *
 * _CLOSED: the context was finalized meanwhile. */

/* output[i] = op over all ranks of input[i], for `count` elements. */
DTRAIN_API int dtrain_all_reduce(dtrain_context* context, dtrain_buffers buffers, int op,
                                 const dtrain_op_options* options, dtrain_error* error);
/* output of every rank = input (or, if that is NULL, output) of rank `root`, `count` elements. The
 * input of others is not read. */
DTRAIN_API int dtrain_broadcast(dtrain_context* context, dtrain_buffers buffers, int root,
                                const dtrain_op_options* options, dtrain_error* error);
/* output, count * size elements, = the inputs of all ranks by rank, `count` elements each. input
 * NULL: this rank's part of output holds it. */
DTRAIN_API int dtrain_all_gather(dtrain_context* context, dtrain_buffers buffers,
                                 const dtrain_op_options* options, dtrain_error* error);
/* output, `count` elements, = this rank's part of the reduction of the inputs, which have
 * count * size elements. input may not be NULL. */
DTRAIN_API int dtrain_reduce_scatter(dtrain_context* context, dtrain_buffers buffers, int op,
                                     const dtrain_op_options* options, dtrain_error* error);
/* output of rank `root` = op over all ranks of input, for `count` elements. input NULL: output
 * holds it. The output of others is not written and may be NULL. */
DTRAIN_API int dtrain_reduce(dtrain_context* context, dtrain_buffers buffers, dtrain_rooted_op to,
                             const dtrain_op_options* options, dtrain_error* error);
/* output of rank `root`, count * size elements, = the inputs of all ranks by rank, `count` elements
 * each. input NULL: the root's part of output holds its input. The output of others is not written
 * and may be NULL. */
DTRAIN_API int dtrain_gather(dtrain_context* context, dtrain_buffers buffers, int root,
                             const dtrain_op_options* options, dtrain_error* error);
/* output, `count` elements, = this rank's part of the input of rank `root`, which has count * size
 * elements by rank. The input of others is not read. The root's output may be NULL: its own part is
 * not copied then. */
DTRAIN_API int dtrain_scatter(dtrain_context* context, dtrain_buffers buffers, int root,
                              const dtrain_op_options* options, dtrain_error* error);
/* Part r of input goes to rank r, and part r of output comes from rank r. Both have count * size
 * elements, `count` for each rank. input NULL: output holds it; the engine makes a copy. */
DTRAIN_API int dtrain_all_to_all(dtrain_context* context, dtrain_buffers buffers,
                                 const dtrain_op_options* options, dtrain_error* error);
/* `count` elements from input to rank `to`, and into output from rank `from`. The sends and
 * receives of a pair of ranks match in their order; count, type and name must be equal. They run
 * beside the collectives. A send may wait for its receive. */
DTRAIN_API int dtrain_send(dtrain_context* context, dtrain_buffers buffers, int to,
                           const dtrain_op_options* options, dtrain_error* error);
DTRAIN_API int dtrain_recv(dtrain_context* context, dtrain_buffers buffers, int from,
                           const dtrain_op_options* options, dtrain_error* error);
/* Returns when every rank has called it. */
DTRAIN_API int dtrain_barrier(dtrain_context* context, const dtrain_op_options* options,
                              dtrain_error* error);

/* ---- Groups ---- */

/* Some of the ranks of a context, as a context of their own: with ranks from 0, own collectives,
 * and own sends and receives. Collectives of different groups run side by side. All functions take
 * the context of a group in the place of that of the whole job; ranks are then those in the group.
 * error.rank, the ranks in texts, and the store stay those of the job.
 *
 * The caller owns a group and ends it with dtrain_finalize, which concerns only its operations: the
 * other members' operations of the group fail with _PEER_LOST from then on. dtrain_finalize of the
 * job's context ends all groups, whose handles still have to be finalized.
 *
 * Both functions are collectives of `context`: all its ranks call them, in the same order as other
 * collectives. If several threads of a rank make groups, they must take turns in the same order on
 * all ranks. Errors: those of dtrain_all_gather; _SYSTEM after 1,048,575 groups in one job. A group
 * costs the ranks outside nothing. */

/* The arguments of one rank to dtrain_split; this struct will never get further fields. */
typedef struct dtrain_part {
  int color; /* ranks with the same color form a group; negative: this rank is in none */
  int key;   /* orders the ranks of a group; equal keys are ordered by rank */
} dtrain_part;

/* A list of ranks, read during the call; this struct will never get further fields. */
typedef struct dtrain_rank_list {
  const int* ranks; /* may be NULL if count is 0 */
  int count;
} dtrain_rank_list;

/* *group = the group of all ranks with this rank's color; NULL if that is negative. */
DTRAIN_API int dtrain_split(dtrain_context* context, dtrain_part part, dtrain_context** group,
                            const dtrain_op_options* options, dtrain_error* error);
/* *group = the group of the ranks in the list, in its order. NULL for a rank that is not in it. All
 * ranks give the same list. _INPUT, on this rank only: a rank that context does not have, or has
 * twice in the list. */
DTRAIN_API int dtrain_group(dtrain_context* context, dtrain_rank_list list, dtrain_context** group,
                            const dtrain_op_options* options, dtrain_error* error);

/* ---- Asynchronous operations ---- */

/* An operation under way. */
typedef struct dtrain_work dtrain_work;

/* As the operations above, but they return at once; the work's status is the operation's. The first
 * one starts a thread that runs the operations that no thread waits for. They return NULL and fill
 * `error` if context or options cannot be used (_INPUT). The caller owns the work and frees it with
 * dtrain_work_free. */
DTRAIN_API dtrain_work* dtrain_all_reduce_async(dtrain_context* context, dtrain_buffers buffers,
                                                int op, const dtrain_op_options* options,
                                                dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_broadcast_async(dtrain_context* context, dtrain_buffers buffers,
                                               int root, const dtrain_op_options* options,
                                               dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_all_gather_async(dtrain_context* context, dtrain_buffers buffers,
                                                const dtrain_op_options* options,
                                                dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_reduce_scatter_async(dtrain_context* context, dtrain_buffers buffers,
                                                    int op, const dtrain_op_options* options,
                                                    dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_reduce_async(dtrain_context* context, dtrain_buffers buffers,
                                            dtrain_rooted_op to, const dtrain_op_options* options,
                                            dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_gather_async(dtrain_context* context, dtrain_buffers buffers,
                                            int root, const dtrain_op_options* options,
                                            dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_scatter_async(dtrain_context* context, dtrain_buffers buffers,
                                             int root, const dtrain_op_options* options,
                                             dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_all_to_all_async(dtrain_context* context, dtrain_buffers buffers,
                                                const dtrain_op_options* options,
                                                dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_send_async(dtrain_context* context, dtrain_buffers buffers, int to,
                                          const dtrain_op_options* options, dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_recv_async(dtrain_context* context, dtrain_buffers buffers, int from,
                                          const dtrain_op_options* options, dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_barrier_async(dtrain_context* context,
                                             const dtrain_op_options* options, dtrain_error* error);

/* Returns the operation's status once it is done, the same at each call; DTRAIN_PENDING if
 * `timeout_ms` passed first. timeout_ms < 0: no limit; 0: does not wait. */
DTRAIN_API int dtrain_work_wait(dtrain_work* work, int timeout_ms, dtrain_error* error);
/* Returns 1 when the operation has succeeded or failed, and when work is NULL; else 0. */
DTRAIN_API int dtrain_work_done(dtrain_work* work);
/* Frees the work and its result; NULL does nothing. First waits until the operation is done,
 * because until then its buffers are in use. Its status is lost. */
DTRAIN_API void dtrain_work_free(dtrain_work* work);

/* ---- Operations with a count for each rank ---- */

/* What one rank sends to each rank. The memory belongs to the caller; `input` must stay valid and
 * unchanged until the operation is done. `counts` is read during the call. */
typedef struct dtrain_split_buffers {
  size_t struct_size; /* sizeof(dtrain_split_buffers) */
  const void* input; /* the parts for all ranks by rank, behind each other; NULL if all are empty */
  const size_t* counts; /* the elements of each part, one count for each rank; 0 is allowed */
  int type;             /* enum dtrain_type */
} dtrain_split_buffers;

/* The result of an operation whose size only the engine knows. */
typedef struct dtrain_result {
  size_t struct_size;   /* sizeof(dtrain_result), set by the caller */
  const void* data;     /* the parts of all ranks by rank, behind each other */
  size_t count;         /* the elements of all parts */
  const size_t* counts; /* the elements of each part */
  int ranks;            /* the number of parts */
  int type;             /* enum dtrain_type */
} dtrain_result;

/* Each of these blocks until it is done, and then sets *work, which has the result; after an error
 * *work is NULL. The caller owns the work and frees it with dtrain_work_free. Errors are those of
 * the operations above; counts may differ between the ranks, and are no mismatch. If there is no
 * memory for what arrives, all operations of this rank fail with _SYSTEM. */

/* Sends each rank its part of buffers->input. The result has the parts that all ranks have sent to
 * this one. A gather or scatter with different counts is this with most counts 0. */
DTRAIN_API int dtrain_all_to_all_split(dtrain_context* context, const dtrain_split_buffers* buffers,
                                       dtrain_work** work, const dtrain_op_options* options,
                                       dtrain_error* error);
/* The result has the inputs of all ranks. buffers.count is this rank's own; buffers.output must be
 * NULL. */
DTRAIN_API int dtrain_all_gather_ragged(dtrain_context* context, dtrain_buffers buffers,
                                        dtrain_work** work, const dtrain_op_options* options,
                                        dtrain_error* error);
/* The same, but they return at once. */
DTRAIN_API dtrain_work* dtrain_all_to_all_split_async(dtrain_context* context,
                                                      const dtrain_split_buffers* buffers,
                                                      const dtrain_op_options* options,
                                                      dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_all_gather_ragged_async(dtrain_context* context,
                                                       dtrain_buffers buffers,
                                                       const dtrain_op_options* options,
                                                       dtrain_error* error);
/* Fills *result from a work that is done. The pointers stay valid until the work is freed. Fails
 * with _INPUT when the work is not done yet, when it failed, and when its operation is another. */
DTRAIN_API int dtrain_work_result(dtrain_work* work, dtrain_result* result, dtrain_error* error);

/* ---- The job's store ---- */

/* Keys and values that all ranks share: to exchange small data, to count, to elect a rank. The
 * launcher holds them in memory until the job ends. A context that is alone has its own store. A
 * program cannot access dtrain's own keys there. Values are sent authenticated, but not encrypted.
 *
 * Limits: a key is a NUL-terminated string of 1 to 250 bytes. A value has at most 1,048,576 bytes
 * and may be empty. The store of a job holds at most 65,536 keys and 256 MiB, keys included; some
 * of them are dtrain's own. At most 256 threads of a rank may wait for keys at the same time.
 *
 * Each call blocks until the store has replied. Any thread may call at any time, also while
 * operations run: calls are not collective and need not match. `options` may be NULL: no time
 * limit. Ranks may differ in options->name, which begins the text of an error.
 *
 * Errors that all of them have: _INPUT (a NULL, a key or value beyond its limit), _TIMEOUT
 * (options->timeout_ms passed without a reply; the store may still carry out the request),
 * _PEER_LOST (the launcher is lost; all calls fail, now and later), _SYSTEM (memory ran out; all
 * calls fail, now and later), _CLOSED (the context was finalized meanwhile).
 *
 * The death of a rank ends waits for keys and no other call. The store keeps what a dead rank has
 * set. */

/* Bytes of the caller, read during the call; this struct will never get further fields. */
typedef struct dtrain_bytes {
  const void* data; /* may be NULL if size is 0 */
  size_t size;
} dtrain_bytes;

/* A copy of a value. The caller owns it and frees it with dtrain_value_free. It stays valid after
 * dtrain_finalize. */
typedef struct dtrain_value dtrain_value;

/* Returns the bytes, followed by a NUL that the size does not include. NULL if value is NULL. */
DTRAIN_API const void* dtrain_value_data(const dtrain_value* value);
/* Returns 0 if value is NULL. */
DTRAIN_API size_t dtrain_value_size(const dtrain_value* value);
/* NULL does nothing. */
DTRAIN_API void dtrain_value_free(dtrain_value* value);

/* Sets the key to the value, and replaces an earlier one. Fails with _REFUSED when the store is
 * full. */
DTRAIN_API int dtrain_store_set(dtrain_context* context, const char* key, dtrain_bytes value,
                                const dtrain_op_options* options, dtrain_error* error);
/* *value = a copy of the key's value; NULL, with DTRAIN_OK, when there is no such key. */
DTRAIN_API int dtrain_store_get(dtrain_context* context, const char* key, dtrain_value** value,
                                const dtrain_op_options* options, dtrain_error* error);
/* Returns when the key exists, with *value = a copy of its value; `value` may be NULL. A key that
 * is erased at once may be missed. Fails with _TIMEOUT, which names the key. Fails with _PEER_LOST
 * when there is no such key and a rank has died (error.rank), which may be the one to set it. A
 * rank that has left ends no wait. Fails with _REFUSED when too many threads wait. */
DTRAIN_API int dtrain_store_wait(dtrain_context* context, const char* key, dtrain_value** value,
                                 const dtrain_op_options* options, dtrain_error* error);
/* Adds *number to the number that the key holds, 0 when there is no such key; *number = the sum.
 * The addition is atomic. Keys hold numbers as decimal text. Fails with _INPUT when the key holds
 * no number or the sum needs more than 64 bits. Fails with _REFUSED when the store is full. After a
 * failure *number is unchanged. */
DTRAIN_API int dtrain_store_add(dtrain_context* context, const char* key, int64_t* number,
                                const dtrain_op_options* options, dtrain_error* error);

/* Arguments and results of dtrain_store_compare_and_set; this struct will never get further
 * fields. */
typedef struct dtrain_exchange {
  const dtrain_bytes* expected; /* in: the value that the key must have; NULL: it must not exist */
  dtrain_bytes desired;         /* in: its new value */
  int done;                     /* out: 1 if the key has been set; else 0, which is no error */
  dtrain_value* held;           /* out, if not done: the key's value, for the caller to free;
                                   NULL: there is no such key */
} dtrain_exchange;

/* Sets the key if it has the expected value. If several ranks expect the same value, only one of
 * them gets done = 1. Fails with _REFUSED when the store is full. */
DTRAIN_API int dtrain_store_compare_and_set(dtrain_context* context, const char* key,
                                            dtrain_exchange* exchange,
                                            const dtrain_op_options* options, dtrain_error* error);
/* *existed = 1 if there was such a key, else 0; `existed` may be NULL. */
DTRAIN_API int dtrain_store_erase(dtrain_context* context, const char* key, int* existed,
                                  const dtrain_op_options* options, dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif /* DTRAIN_H */
