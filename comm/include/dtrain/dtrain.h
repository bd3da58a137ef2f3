#ifndef DTRAIN_H
#define DTRAIN_H

/*
 * libdtrain: collectives and a store for the processes that `dtrain run` started.
 *
 *   dtrain_error error = DTRAIN_ERROR_INIT;
 *   dtrain_context* world = dtrain_init(NULL, &error);
 *   dtrain_buffers gradients = {.output = g, .count = n, .type = DTRAIN_FLOAT32};
 *   if (dtrain_all_reduce(world, gradients, DTRAIN_AVERAGE, NULL, &error) != DTRAIN_OK)
 *     puts(error.text);
 *   dtrain_finalize(world);
 *
 * Status: a function that can fail returns DTRAIN_OK or another dtrain_status, or NULL where it
 * returns a handle. It then fills the caller's dtrain_error, which may be NULL. The library prints
 * nothing, installs no signal handler, and throws no exception to its caller.
 *
 * Threads: any thread may call any function, also several at once, but dtrain_finalize and
 * dtrain_work_free must be the last use of their handle. Collectives match by the order of each
 * rank's calls, so every rank must call them in the same order. A call ends before `pthread_cancel`
 * of its thread takes effect.
 *
 * fork: a child may call exec or _exit. Calls with its parent's handles fail (DTRAIN_ERROR_INPUT).
 *
 * Structs: later versions append fields to the structs that have a `struct_size`, by which the
 * library knows the caller's fields. A field that is zero has its default. dtrain_buffers has no
 * struct_size: it is passed by value and will never change.
 */

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
#define DTRAIN_INT_ENUM : int /* any int may be such an enumerator, as in C */
extern "C" {
#else
#define DTRAIN_INT_ENUM
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

/* Receives the reason of a failure. Begin with DTRAIN_ERROR_INIT, or set struct_size =
 * sizeof(dtrain_error); 0 means the fields below, which are those of the first version. */
typedef struct dtrain_error {
  size_t struct_size;
  int code;       /* enum dtrain_status */
  int rank;       /* the rank to blame, or -1 */
  char text[512]; /* one sentence, NUL-terminated UTF-8, cut if longer */
} dtrain_error;

/* clang-format off */
#define DTRAIN_ERROR_INIT {sizeof(dtrain_error), DTRAIN_OK, -1, ""}
/* clang-format on */

/* The library's version, such as "0.1.0". Static; never NULL. */
DTRAIN_API const char* dtrain_version(void);

/* ---- Joining ---- */

enum dtrain_transport {
  DTRAIN_TRANSPORT_AUTO = 0, /* that of dtrain run --transport. All ranks give the same. */
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

/* Joins the other ranks and returns when all have joined; the caller ends the context, which it
 * owns, with dtrain_finalize. Without options, or with options->role NULL, the variables
 * DTRAIN_ROLE, _TASK_INDEX, _JOB_ID, _GENERATION, _RENDEZVOUS and _TOKEN decide. If all are set,
 * the process joins. If none is set, it is alone: rank 0 of size 1, without network; where another
 * launcher has started several processes, only with DTRAIN_ALONE=1. If some are set, it fails and
 * names the missing ones. DTRAIN_RANK and DTRAIN_SIZE must agree with the job.
 *
 * A rank has one descriptor for each rank on another host, and two for each on its own. If the soft
 * limit RLIMIT_NOFILE is too low for them, dtrain_init raises it as far as necessary.
 *
 * Fails with:
 * - _INPUT for wrong options or a wrong environment, for a task without rank, and at once when the
 *   hard limit of open files is too low for the ranks.
 * - _UNREACHABLE and _REFUSED by the rendezvous or a peer, the latter also for a wrong token.
 * - _TIMEOUT when tasks are missing after the limit; the text names them.
 * - _PEER_LOST when a rank died first or this one was restarted; _CLOSED when the launcher is lost.
 * - _PROTOCOL when the other side is no libdtrain or dtrain of this version; _SYSTEM. */
DTRAIN_API dtrain_context* dtrain_init(const dtrain_init_options* options, dtrain_error* error);

/* Leaves the job, or the group, and frees the context, also after an error; NULL does nothing.
 * Pending operations fail with DTRAIN_ERROR_CLOSED. When it returns, no buffer is in use any more.
 * Before, it waits at most 2 s for the other ranks to receive what this rank has sent. Works stay
 * valid until they are freed. */
DTRAIN_API void dtrain_finalize(dtrain_context* context);

/* This rank's numbers; -1 if context is NULL. The local ones are among the ranks of this host.
 * cross_rank is the index of this host among the hosts that have this local rank. */
DTRAIN_API int dtrain_rank(const dtrain_context* context);
DTRAIN_API int dtrain_size(const dtrain_context* context);
DTRAIN_API int dtrain_local_rank(const dtrain_context* context);
DTRAIN_API int dtrain_local_size(const dtrain_context* context);
DTRAIN_API int dtrain_cross_rank(const dtrain_context* context);
DTRAIN_API int dtrain_cross_size(const dtrain_context* context);
/* The name of this rank's host as the job knows it; the context owns it. */
DTRAIN_API const char* dtrain_host(const dtrain_context* context);

/* Writes the algorithms of the context's collectives in the form of `dtrain run --algorithms`:
 * "all_reduce=tree:16k:ring,broadcast=tree" and so on. Limits are in bytes of the call's `count`
 * elements. "shm" stands for collectives in shared memory, which have no limits. Ends the text with
 * NUL and cuts it to `size` bytes; `text` may be NULL if `size` is 0. Returns the length of the
 * whole text, or 0 if context is NULL, finalized or that of a forked parent. */
DTRAIN_API size_t dtrain_algorithms(dtrain_context* context, char* text, size_t size);

/* ---- Operations ---- */

/* Element types. Floats of 8 and 16 bits are added and multiplied in float32, and partial sums may
 * be rounded. A result beyond the range of an 8-bit float becomes its largest number, even before
 * an average is divided: use prescale then. A call on one rank keeps the bits. 17 to 31 stay free.
 * */
typedef enum dtrain_type DTRAIN_INT_ENUM {
  DTRAIN_INT8 = 1,
  DTRAIN_UINT8 = 2,
  DTRAIN_INT32 = 3,
  DTRAIN_UINT32 = 4,
  DTRAIN_INT64 = 5,
  DTRAIN_UINT64 = 6,
  DTRAIN_FLOAT16 = 7, /* IEEE 754 binary16 */
  DTRAIN_BFLOAT16 = 8,
  DTRAIN_FLOAT32 = 9,
  DTRAIN_FLOAT64 = 10,
  DTRAIN_INT16 = 11,
  DTRAIN_UINT16 = 12,
  DTRAIN_BOOL = 13, /* a byte: 0 is false, all others are true; results are 0 or 1 */
  /* Elements that are never reduced. dtrain_op_options names them and has their size. */
  DTRAIN_OPAQUE = 14,
  DTRAIN_FLOAT8_E4M3 = 15, /* of the OCP ("e4m3fn"): at most 448, no infinity, NaN: 0x7f, 0xff */
  DTRAIN_FLOAT8_E5M2 = 16  /* of the OCP: at most 57344, or infinite; a new NaN is 0x7f or 0xff */
} dtrain_type;

/* Where an input of floats is NaN, the result is NaN, also with DTRAIN_MIN and DTRAIN_MAX.
 *
 * bool: DTRAIN_SUM and DTRAIN_MAX are "or", DTRAIN_PRODUCT and DTRAIN_MIN are "and". There is no
 * average. */
typedef enum dtrain_op DTRAIN_INT_ENUM {
  DTRAIN_SUM = 0,
  DTRAIN_AVERAGE = 1, /* the sum divided by the number of ranks; for integers, the sum in their own
                         width, which wraps, divided toward zero */
  DTRAIN_MIN = 2,
  DTRAIN_MAX = 3,
  DTRAIN_PRODUCT = 4,
  /* Only for all_reduce of floats: (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b of two whole
   * buffers (Maleki et al., 2020). The result is computed in float64, and rounded for each pair.
   * Neighbours are paired, then these pairs, and so on. The first 2 (n - 2^k) of n ranks are
   * reduced in pairs before, where 2^k is the largest power of two up to n. */
  DTRAIN_ADASUM = 5
} dtrain_op;

/* The ranks over which DTRAIN_AVERAGE is taken. They differ only while ranks have joined (see
 * dtrain_join). */
enum dtrain_average_over {
  DTRAIN_ALL_RANKS = 0,   /* a rank that has joined counts, with zeros */
  DTRAIN_ACTIVE_RANKS = 1 /* the ranks that have not joined. Their sum is rounded to the type before
                             it is divided */
};

/* The type as which a reduction of float32 or float64 is sent and added. Each input is rounded to
 * it after its prescale, and each result becomes the caller's type again before its postscale. */
enum dtrain_compression {
  DTRAIN_NO_COMPRESSION = 0,
  DTRAIN_COMPRESSION_FLOAT16 = 1, /* values beyond 65504 become infinite */
  DTRAIN_COMPRESSION_BFLOAT16 = 2
};

/* The memory of one operation; this struct will never get further fields. The memory belongs to the
 * caller, and must stay valid and unchanged until the operation is done. It lies on the host, or on
 * one device (see dtrain_device.h). `count` is in elements and may be 0. Pointers must be aligned
 * for the type. */
typedef struct dtrain_buffers {
  const void* input; /* NULL where an operation allows it: `output` holds the input */
  void* output;      /* may equal input; may not overlap it otherwise */
  size_t count;
  dtrain_type type;
} dtrain_buffers;

/* A NULL pointer to it means that all fields have their defaults. Calls other than operations, such
 * as those of the store, use name and timeout_ms alone, and refuse the others. */
typedef struct dtrain_op_options {
  size_t struct_size; /* sizeof(dtrain_op_options) */
  const char* name;   /* matches a collective, see below. If those of a send and its receive differ,
                         both get DTRAIN_ERROR_MISMATCH. Copied. NULL or "": unnamed */
  int timeout_ms;     /* 0: no limit (a death still ends it) */
  /* all_reduce, reduce and reduce_scatter multiply each input and each result by a finite number; 0
   * means 1. Floats: in their type, rounded; those of 8 and 16 bits in float32, rounded before the
   * reduction and after it. Integers: in float64, truncated toward zero; a product beyond the
   * type's range becomes the nearest number. An average is divided first. bool has none. */
  double prescale;
  double postscale;
  /* The sizes of the dimensions of `count` elements; NULL: the shape is not compared. Either all
   * ranks give equal shapes to a collective, or all give none. In operations with a count for each
   * rank, shapes may differ in the first dimension. A send or a receive compares none. Copied. */
  const size_t* shape;
  int dims;         /* the number of sizes in `shape`, at most 64; may be 0 */
  int average_over; /* enum dtrain_average_over; only with DTRAIN_AVERAGE */
  int compression;  /* enum dtrain_compression; only of a reduction of float32 or float64 */
  /* Only with DTRAIN_OPAQUE: the name of the elements, at most 32 bytes, and the size of one, 1 to
   * 1,048,576 bytes. Ranks compare both. Copied. */
  const char* element;
  size_t element_bytes;
  int priority; /* the highest is first among the named collectives that all ranks have called. The
                   context's rank 0 decides; others may differ. May be negative */
  void* stream; /* of the device of the buffers, such as a cudaStream_t; see dtrain_device.h */
} dtrain_op_options;

/* Each of these blocks until the operation is done on this rank, and returns its status. Results
 * have the same bits on every rank.
 *
 * Collectives with a name match those of that name on the other ranks, in any order. A named one
 * that a rank has not called holds up no other. Small all_reduces that are pending together are
 * sent as one. Collectives without a name match by their order on each rank.
 *
 * All of them fail with:
 * - _INPUT for a NULL or unaligned pointer, an unknown type or op, a rank out of range, and counts
 *   that are too large. Also when a collective of that name is pending on this rank, which
 *   continues. Nothing was sent; the other ranks still wait.
 * - _MISMATCH when ranks called different collectives, or one with another count, type, op, root,
 *   scale, compression, shape, opaque elements or kind of memory. Also when the collective needs a
 *   rank that has joined, or when every rank blocks for a second in collectives of different names,
 *   and none has calls from several threads. Every rank gets it, also when the collective has a
 *   root. error.rank is one that differs, and the content of `output` is undefined. A send and its
 *   receive that differ in count, type or name fail on these two ranks alone. The context stays
 *   usable.
 * - _TIMEOUT when options->timeout_ms passed. A collective's timeout ends it and all later
 *   collectives of the context on every rank: the named ones, or those without a name. Sends and
 *   receives continue. A send or receive that timed out ends alone. If a receive times out before
 *   its message begins to arrive, the next receive from that rank gets the message.
 * - _PEER_LOST when a rank died, or left while it was needed, or the launcher is lost; error.text
 *   names rank, host and cause. After a death or the launcher's loss all operations fail, now and
 *   later. After a leave, collectives fail, and sends to and receives from that rank, but not
 *   between other ranks.
 * - _SYSTEM when memory ran out: all operations of this rank fail, now and later, and those of
 *   others with _PEER_LOST.
 * - _CLOSED when the context was finalized meanwhile. */

/* output[i] = op over all ranks of input[i], for `count` elements. */
DTRAIN_API int dtrain_all_reduce(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                                 const dtrain_op_options* options, dtrain_error* error);
/* output of every rank = input of rank `root`, or its output if that is NULL; `count` elements. The
 * input of others is not read. */
DTRAIN_API int dtrain_broadcast(dtrain_context* context, dtrain_buffers buffers, int root,
                                const dtrain_op_options* options, dtrain_error* error);
/* output, count * size elements, = the inputs of all ranks by rank, `count` elements each. If
 * `input` is NULL, this rank's part of output holds it. */
DTRAIN_API int dtrain_all_gather(dtrain_context* context, dtrain_buffers buffers,
                                 const dtrain_op_options* options, dtrain_error* error);
/* output, `count` elements, = this rank's part of the reduction of the inputs, which have count *
 * size elements. `input` may not be NULL. */
DTRAIN_API int dtrain_reduce_scatter(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                                     const dtrain_op_options* options, dtrain_error* error);
/* output of rank `root` = op over all ranks of input, for `count` elements. If `input` is NULL,
 * output holds it. The output of others is not written and may be NULL. */
DTRAIN_API int dtrain_reduce(dtrain_context* context, dtrain_buffers buffers, dtrain_op op,
                             int root, const dtrain_op_options* options, dtrain_error* error);
/* output of rank `root`, count * size elements, = the inputs of all ranks by rank. If `input` is
 * NULL, the root's part of output holds it. The output of others is not written and may be NULL. */
DTRAIN_API int dtrain_gather(dtrain_context* context, dtrain_buffers buffers, int root,
                             const dtrain_op_options* options, dtrain_error* error);
/* output, `count` elements, = this rank's part of the input of rank `root`, which has count * size
 * elements. The input of others is not read. The root's output may be NULL: it gets no copy. */
DTRAIN_API int dtrain_scatter(dtrain_context* context, dtrain_buffers buffers, int root,
                              const dtrain_op_options* options, dtrain_error* error);
/* Part r of input goes to rank r, and part r of output comes from rank r. Both have count * size
 * elements, `count` for each rank. input NULL: output holds it; the engine makes a copy. */
DTRAIN_API int dtrain_all_to_all(dtrain_context* context, dtrain_buffers buffers,
                                 const dtrain_op_options* options, dtrain_error* error);
/* Sends `count` elements of input to rank `to`; receives as many into output from rank `from`. The
 * sends and receives of two ranks match in their order; count, type and name must be equal.
 * Collectives run at the same time. A send may wait for its receive. */
DTRAIN_API int dtrain_send(dtrain_context* context, dtrain_buffers buffers, int to,
                           const dtrain_op_options* options, dtrain_error* error);
DTRAIN_API int dtrain_recv(dtrain_context* context, dtrain_buffers buffers, int from,
                           const dtrain_op_options* options, dtrain_error* error);
/* Returns when every rank has called it. */
DTRAIN_API int dtrain_barrier(dtrain_context* context, const dtrain_op_options* options,
                              dtrain_error* error);
/* This rank has no more data for named collectives, although others may have. Returns when every
 * rank has called it, with *last = the rank that was last, the same on all ranks; `last` may be
 * NULL.
 *
 * Until then this rank takes part in the named reductions of others with the value that changes no
 * result. This is 0 for a sum, 1 for a product, and the type's largest value for a minimum. Named
 * collectives of another kind, and reductions to a root that has joined, fail on the others with
 * _MISMATCH. This rank's own named collectives fail with _INPUT until all have joined. Collectives
 * without a name wait for this rank's call as always. `options` may have a timeout only. */
DTRAIN_API int dtrain_join(dtrain_context* context, int* last, const dtrain_op_options* options,
                           dtrain_error* error);

/* ---- Groups ---- */

/* Some of the ranks of a context, as a context of their own, with ranks from 0 and own collectives,
 * sends and receives. Collectives of different groups run side by side. All functions take a group
 * in the place of the job's context, and ranks are then those in the group. But error.rank, the
 * ranks in texts, and the store stay those of the job.
 *
 * The caller owns a group and ends it with dtrain_finalize. This ends the operations of that group
 * alone, which fail with _PEER_LOST on its other members from then on. dtrain_finalize of the job's
 * context ends all groups, whose handles still have to be finalized.
 *
 * Either all members have a new group, or all get an error. Threads of a rank that make groups must
 * take turns in the same order on all ranks. Fails with _SYSTEM after 524,287 groups in one job. A
 * group costs other ranks nothing. */

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

/* *group = the group of all ranks with this rank's color; NULL if that is negative. A collective of
 * `context`, with the errors of dtrain_all_gather. */
DTRAIN_API int dtrain_split(dtrain_context* context, dtrain_part part, dtrain_context** group,
                            const dtrain_op_options* options, dtrain_error* error);
/* *group = the group of the ranks in the list, in its order. Only these ranks need to call it; any
 * other one gets NULL at once. Ranks must make the groups that they have in common in one order,
 * with equal lists and names. Another order of the list or another name is _MISMATCH; ranks whose
 * lists have other members wait for each other. _TIMEOUT names their lists, and ends the call on
 * all members, also on one that calls later. A rank that context does not have, or that is twice
 * in the list, is _INPUT on this rank alone. */
DTRAIN_API int dtrain_group(dtrain_context* context, dtrain_rank_list list, dtrain_context** group,
                            const dtrain_op_options* options, dtrain_error* error);

/* ---- Asynchronous operations ---- */

/* An operation under way. */
typedef struct dtrain_work dtrain_work;

/* As the operations above, but they return at once; the work's status is the operation's. The first
 * one starts a thread for operations that no thread waits for. They return NULL and fill `error` if
 * context or options are unusable (_INPUT). The caller frees the work with dtrain_work_free. */
DTRAIN_API dtrain_work* dtrain_all_reduce_async(dtrain_context* context, dtrain_buffers buffers,
                                                dtrain_op op, const dtrain_op_options* options,
                                                dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_broadcast_async(dtrain_context* context, dtrain_buffers buffers,
                                               int root, const dtrain_op_options* options,
                                               dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_all_gather_async(dtrain_context* context, dtrain_buffers buffers,
                                                const dtrain_op_options* options,
                                                dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_reduce_scatter_async(dtrain_context* context, dtrain_buffers buffers,
                                                    dtrain_op op, const dtrain_op_options* options,
                                                    dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_reduce_async(dtrain_context* context, dtrain_buffers buffers,
                                            dtrain_op op, int root,
                                            const dtrain_op_options* options, dtrain_error* error);
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
/* Its result (see dtrain_work_result) is one DTRAIN_INT32, the rank that joined last. */
DTRAIN_API dtrain_work* dtrain_join_async(dtrain_context* context, const dtrain_op_options* options,
                                          dtrain_error* error);

/* Returns the operation's status once it is done, the same at each call. Returns DTRAIN_PENDING if
 * `timeout_ms` passed first; a negative one means no limit, and 0 does not wait. */
DTRAIN_API int dtrain_work_wait(dtrain_work* work, int timeout_ms, dtrain_error* error);
/* Returns 1 when the operation has succeeded or failed, and when work is NULL; else 0. */
DTRAIN_API int dtrain_work_done(dtrain_work* work);
/* Frees the work and its result; NULL does nothing. First waits until the operation is done,
 * because its buffers are in use until then. Its status is lost. */
DTRAIN_API void dtrain_work_free(dtrain_work* work);

/* ---- Operations with a count for each rank ---- */

/* The parts that one rank has for all ranks. The memory belongs to the caller; `input` must stay
 * valid and unchanged until the operation is done. `counts` is read during the call. */
typedef struct dtrain_split_buffers {
  size_t struct_size; /* sizeof(dtrain_split_buffers) */
  const void* input; /* the parts for all ranks by rank, behind each other; NULL if all are empty */
  const size_t* counts; /* the elements of each part, one count for each rank; 0 is allowed */
  dtrain_type type;
  dtrain_op op; /* only dtrain_reduce_scatter_v reads it */
} dtrain_split_buffers;

/* The result of an operation whose size only the engine knows. */
typedef struct dtrain_result {
  size_t struct_size;   /* sizeof(dtrain_result), set by the caller */
  const void* data;     /* the parts of all ranks by rank, behind each other */
  size_t count;         /* the elements of all parts */
  const size_t* counts; /* the elements of each part */
  int ranks;            /* the number of parts */
  dtrain_type type;
} dtrain_result;

/* Each of these blocks until it is done, and then sets *work, which has the result; after an error
 * *work is NULL. The caller owns the work and frees it with dtrain_work_free. Errors are those of
 * the operations above. Without memory for received parts, all of this rank's fail with _SYSTEM. */

/* Sends each rank its part of buffers->input. Counts may differ between the ranks. The result has
 * the parts that all ranks have sent to this one. With most counts 0, this is a gather or a scatter
 * with different counts. */
DTRAIN_API int dtrain_all_to_all_v(dtrain_context* context, const dtrain_split_buffers* buffers,
                                   dtrain_work** work, const dtrain_op_options* options,
                                   dtrain_error* error);
/* The result is this rank's part of the reduction `buffers->op` of the inputs, whose parts may have
 * different counts. All ranks give the same counts. The result has one part. */
DTRAIN_API int dtrain_reduce_scatter_v(dtrain_context* context, const dtrain_split_buffers* buffers,
                                       dtrain_work** work, const dtrain_op_options* options,
                                       dtrain_error* error);
/* The result has the inputs of all ranks, whose counts may differ. `buffers.count` is this rank's
 * own, and `buffers.output` must be NULL. */
DTRAIN_API int dtrain_all_gather_v(dtrain_context* context, dtrain_buffers buffers,
                                   dtrain_work** work, const dtrain_op_options* options,
                                   dtrain_error* error);
/* The same, but they return at once. */
DTRAIN_API dtrain_work* dtrain_all_to_all_v_async(dtrain_context* context,
                                                  const dtrain_split_buffers* buffers,
                                                  const dtrain_op_options* options,
                                                  dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_reduce_scatter_v_async(dtrain_context* context,
                                                      const dtrain_split_buffers* buffers,
                                                      const dtrain_op_options* options,
                                                      dtrain_error* error);
DTRAIN_API dtrain_work* dtrain_all_gather_v_async(dtrain_context* context, dtrain_buffers buffers,
                                                  const dtrain_op_options* options,
                                                  dtrain_error* error);
/* Fills *result from a work that is done. The pointers stay valid until the work is freed. Fails
 * with _INPUT when the work is not done yet, when it failed, and when its operation has none. */
DTRAIN_API int dtrain_work_result(dtrain_work* work, dtrain_result* result, dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#include "dtrain_store.h"

#endif /* DTRAIN_H */
