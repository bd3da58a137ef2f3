#pragma once

/*
 * libdtrain: the job's store. dtrain.h includes this header. Its rules for status, errors and
 * threads hold here, too.
 */

#include "dtrain.h"

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#ifdef __cplusplus
extern "C" {
#endif

/* Keys and values that all ranks share: to exchange small data, to count, to elect a rank. The
 * launcher holds them in memory until the job ends. A context that is alone has its own store. A
 * program cannot access dtrain's own keys there. Values are sent authenticated, but not encrypted.
 *
 * Limits: a key is a NUL-terminated string of 1 to 250 bytes. A value has at most 1,048,576 bytes
 * and may be empty. The store of a job holds at most 65,536 keys and 256 MiB, which include the
 * keys themselves and dtrain's own. At most 256 threads of a rank may wait for keys at the same
 * time.
 *
 * Each call blocks until the store has replied. Any thread may call at any time, also while
 * operations run: calls are not collective and need not match. `options` may be NULL: no time
 * limit. Ranks may differ in options->name, which begins the text of an error.
 *
 * All of them fail with:
 * - _INPUT for a NULL, and for a key or value beyond its limit.
 * - _TIMEOUT when options->timeout_ms passes without a reply. The store may still carry out the
 *   request.
 * - _PEER_LOST when the launcher is lost, and _SYSTEM when memory has run out. All calls fail then,
 *   now and later.
 * - _CLOSED when the context was finalized meanwhile.
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
/* Returns when the key exists, with *value = a copy of its value; `value` may be NULL. The call may
 * miss a key that is erased at once. Fails with _TIMEOUT, and the text names the key. Fails with
 * _PEER_LOST when there is no such key and a rank has died, which may be the one to set it;
 * error.rank names that rank. A rank that has left ends no wait. Fails with _REFUSED when too many
 * threads wait. */
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
