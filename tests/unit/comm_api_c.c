/* The public header as a C99 program uses it. */
#include "comm/dtrain.h"

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

/* 0, or what went wrong and where. */
int api_from_c(char text[512]) {
  dtrain_error error = {.struct_size = sizeof error};
  dtrain_init_options options = {.struct_size = sizeof options};
  dtrain_context* world = dtrain_init(&options, &error);
  int status = error.code;
  if (world != NULL) status = sum_alone(world, &error);
  if (world != NULL && dtrain_size(world) != 1) status = 1001;
  dtrain_finalize(world);
  memcpy(text, error.text, sizeof error.text);
  return status;
}
