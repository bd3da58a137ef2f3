#pragma once

/*
 * libdtrain: a coordinator, which runs closures on passive workers. Programs include this header
 * beside dtrain.h. Its rules for status, errors, structs and fork hold here, too.
 *
 *   dtrain run --role chief=1,worker=3,ps=1 --strategy parameter_server --ps-mode async ./in_graph
 *
 * The chief schedules closures by dtrain_coordinator_schedule. Each worker runs them within
 * dtrain_coordinator_serve, one at a time. A closure is a name, which every worker has registered,
 * and bytes as its argument; its result is bytes. No code is sent. Closures may use parameter
 * servers, as those of TensorFlow's ClusterCoordinator do.
 *
 * A closure runs at least once: if its worker dies or loses its connection, the closure runs again
 * on another one, and its effects must allow for that. A closure that has failed does not run
 * again.
 */

#include "dtrain.h"
#include "dtrain_ps.h"
#include "dtrain_store.h"

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum of an argument, and of a result. */
#define DTRAIN_CLOSURE_BYTES_MAX 67108864

/* ---- Workers ---- */

/* The result of a closure that runs. */
typedef struct dtrain_closure_result dtrain_closure_result;
/* Copies the bytes as the result; a later call replaces it. Without a call, the result is empty.
 * Fails with _INPUT (a NULL), and with _REFUSED (more than DTRAIN_CLOSURE_BYTES_MAX). */
DTRAIN_API int dtrain_closure_return(dtrain_closure_result* result, dtrain_bytes bytes,
                                     dtrain_error* error);

/* A closure by its name; this struct will never get further fields. */
typedef struct dtrain_closure {
  const char* name; /* 1 to 250 bytes */
  /* Returns DTRAIN_OK, or fails with another dtrain_status and a text in *error, which has the form
   * of every dtrain_error. Both reach the coordinator. */
  int (*run)(dtrain_bytes argument, dtrain_closure_result* result, void* data, dtrain_error* error);
  void* data; /* for `run` */
} dtrain_closure;
typedef struct dtrain_closures {
  const dtrain_closure* items;
  size_t count;
} dtrain_closures;

typedef struct dtrain_coordinator_serve_options {
  size_t struct_size;                  /* sizeof(dtrain_coordinator_serve_options) */
  const dtrain_init_options* identity; /* of this task; NULL: the environment has it */
  dtrain_ps* ps;    /* of this process if it has one, since a task joins its job once; then without
                       an identity. It must stay until the call returns. NULL: it has none */
  const char* role; /* of the coordinator: its first task; NULL: "chief" */
  int timeout_ms;   /* until the coordinator has started; 0: 300,000 */
} dtrain_coordinator_serve_options;

/* Runs closures for the coordinator, on the calling thread. Returns when the coordinator closes, or
 * when its task has left the job. `options` may be NULL.
 *
 * Fails as dtrain_init does, and with:
 * - _INPUT for wrong options or a wrong environment, for two closures of one name, and for a job
 *   without the coordinator's task.
 * - _TIMEOUT when no coordinator has started in time.
 * - _PEER_LOST when the coordinator died, or the launcher is lost.
 * - _REFUSED when this task has another role than the coordinator's workers. */
DTRAIN_API int dtrain_coordinator_serve(dtrain_closures closures,
                                        const dtrain_coordinator_serve_options* options,
                                        dtrain_error* error);

/* ---- The coordinator ---- */

typedef struct dtrain_coordinator_options {
  size_t struct_size;                  /* sizeof(dtrain_coordinator_options) */
  const dtrain_init_options* identity; /* of this task; NULL: the environment has it */
  dtrain_ps* ps;                       /* as above; it must stay until dtrain_coordinator_close */
  const char* role;                    /* of the workers; NULL: "worker" */
  int workers_min;     /* if fewer workers are left, all closures fail; 0: 1, as --min-workers */
  size_t closures_max; /* unfinished, or not fetched yet; 0: 65,536 */
  size_t bytes_max;    /* of the arguments and results that it holds; 0: 1 GiB */
} dtrain_coordinator_options;

/* A coordinator, with a thread of its own. Any thread may use it. */
typedef struct dtrain_coordinator dtrain_coordinator;

/* Starts a coordinator; a task has one at a time. Returns before any worker is there. `options` may
 * be NULL.
 *
 * Fails as dtrain_init does, and with _INPUT for wrong options or a wrong environment, for a job
 * with fewer workers than workers_min, and for the task of a worker. */
DTRAIN_API dtrain_coordinator* dtrain_coordinator_start(const dtrain_coordinator_options* options,
                                                        dtrain_error* error);
/* Ends the service of all workers, and frees the handle; NULL does nothing. Waits at most 2 s for
 * closures that run. Drops those that wait: call dtrain_coordinator_join before. */
DTRAIN_API void dtrain_coordinator_close(dtrain_coordinator* coordinator);

/* Queues a closure for the next idle worker, and returns at once. *closure = its number for
 * dtrain_coordinator_fetch; its result is held until then. If `closure` is NULL, the result is
 * dropped.
 *
 * Fails with _INPUT for a NULL, and for a name that is empty or too long. Fails with _REFUSED when
 * the argument is too long, or when the coordinator holds closures_max closures or bytes_max bytes.
 * Fails with _PEER_LOST when too few workers are left; the text names those that are gone. */
DTRAIN_API int dtrain_coordinator_schedule(dtrain_coordinator* coordinator, const char* name,
                                           dtrain_bytes argument, int64_t* closure,
                                           dtrain_error* error);
/* Returns when all closures have finished. A negative `timeout_ms` means no limit.
 *
 * Fails with the error of the first closure that has failed since the last join. The text names the
 * closure, and the worker with its host; error->rank is the worker's. A closure fails with _INPUT
 * if its worker has not registered the name. Fails with _PEER_LOST when too few workers are left.
 * Fails with _TIMEOUT when a closure has not finished; the text names it, and the coordinator stays
 * usable. */
DTRAIN_API int dtrain_coordinator_join(dtrain_coordinator* coordinator, int timeout_ms,
                                       dtrain_error* error);
/* Waits for one closure, as dtrain_coordinator_join. *value = its result, which the caller frees; a
 * closure is fetched once. Fails with the error of this closure. Fails with _INPUT if there is no
 * such closure, or if it has been fetched. */
DTRAIN_API int dtrain_coordinator_fetch(dtrain_coordinator* coordinator, int64_t closure,
                                        dtrain_value** value, int timeout_ms, dtrain_error* error);
/* *done = 1 if all closures have finished, else 0. */
DTRAIN_API int dtrain_coordinator_done(dtrain_coordinator* coordinator, int* done,
                                       dtrain_error* error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
