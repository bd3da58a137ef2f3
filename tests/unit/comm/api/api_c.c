/* The public headers as a C99 program uses them. */
#include "comm/include/dtrain/dtrain.h"
#include "comm/include/dtrain/dtrain_coordinator.h"
#include "comm/include/dtrain/dtrain_ps.h"

#include <string.h>

int api_from_c(char text[512]);

static int sum_alone(dtrain_context* world, dtrain_error* error) {
  float values[3] = {1, 2, 3};
  dtrain_buffers buffers = {.output = values, .count = 3, .type = DTRAIN_FLOAT32};
  dtrain_op_options options = {sizeof options, "g", 1000};
  dtrain_work* work;
  int status = dtrain_all_reduce(world, buffers, DTRAIN_SUM, &options, error);
  if (status != DTRAIN_OK) return status;
  work = dtrain_all_reduce_async(world, buffers, DTRAIN_AVERAGE, NULL, error);
  if (work == NULL) return error->code;
  status = dtrain_work_wait(work, -1, error);
  dtrain_work_free(work);
  if (values[2] != 3) return 1000;
  return status;
}

static int use_store(dtrain_context* world, dtrain_error* error) {
  dtrain_bytes bytes = {"abc", 3};
  dtrain_exchange exchange = {.expected = &bytes, .desired = {"d", 1}};
  dtrain_value* value = NULL;
  int64_t number = 2;
  int existed = 0;
  int status = dtrain_store_set(world, "k", bytes, NULL, error);
  if (status == DTRAIN_OK) status = dtrain_store_get(world, "k", &value, NULL, error);
  if (status != DTRAIN_OK) return status;
  status = dtrain_value_size(value) == 3 && strcmp(dtrain_value_data(value), "abc") == 0 ? 0 : 1002;
  dtrain_value_free(value);
  if (status == 0) status = dtrain_store_compare_and_set(world, "k", &exchange, NULL, error);
  if (status == 0 && (!exchange.done || exchange.held != NULL)) status = 1003;
  if (status == 0) status = dtrain_store_compare_and_set(world, "k", &exchange, NULL, error);
  if (status == 0 && (exchange.done || dtrain_value_size(exchange.held) != 1)) status = 1004;
  dtrain_value_free(exchange.held);
  if (status == 0) status = dtrain_store_wait(world, "k", NULL, NULL, error);
  if (status == 0) status = dtrain_store_add(world, "n", &number, NULL, error);
  if (status == 0) status = dtrain_store_erase(world, "n", &existed, NULL, error);
  return status == 0 && (number != 2 || existed != 1) ? 1005 : status;
}

/* The operations that came after the first header. */
static int use_splits(dtrain_context* world, dtrain_error* error) {
  int values[2] = {4, 5};
  size_t counts[1] = {2};
  dtrain_buffers buffers = {.output = values, .count = 2, .type = DTRAIN_INT32};
  dtrain_split_buffers split = {sizeof split, values, counts, DTRAIN_INT32};
  dtrain_result result = {.struct_size = sizeof result};
  dtrain_work* work = NULL;
  int status = dtrain_reduce(world, buffers, DTRAIN_SUM, 0, NULL, error);
  if (status == DTRAIN_OK) status = dtrain_all_to_all(world, buffers, NULL, error);
  if (status == DTRAIN_OK) status = dtrain_all_to_all_v(world, &split, &work, NULL, error);
  if (status != DTRAIN_OK) return status;
  status = dtrain_work_result(work, &result, error);
  if (status == DTRAIN_OK && (result.count != 2 || ((const int*)result.data)[1] != 5))
    status = 1006;
  dtrain_work_free(work);
  return status;
}

/* 0, or what went wrong and where. */
int api_from_c(char text[512]) {
  dtrain_error error = DTRAIN_ERROR_INIT;
  dtrain_init_options options = {.struct_size = sizeof options};
  dtrain_context* world = dtrain_init(&options, &error);
  int status = error.code;
  if (world != NULL) status = sum_alone(world, &error);
  if (world != NULL && status == DTRAIN_OK) status = use_store(world, &error);
  if (world != NULL && status == DTRAIN_OK) status = use_splits(world, &error);
  if (world != NULL && dtrain_size(world) != 1) status = 1001;
  dtrain_finalize(world);
  memcpy(text, error.text, sizeof error.text);
  return status;
}
