#include "comm/include/dtrain/dtrain_strategy.h"

int one_step_in_c(dtrain_context* context, double* result);

struct Training {
  dtrain_variable* w;
};

static int subtract(dtrain_replica* replica, size_t index, void* argument) {
  struct Training* training = argument;
  double* w = dtrain_replica_data(replica, training->w);
  w[index] -= 2;
  return 0;
}

static int step(dtrain_replica* replica, void* argument) {
  struct Training* training = argument;
  double gradient[1] = {1};
  const dtrain_gradient one = {training->w, gradient};
  const dtrain_gradient_list list = {&one, 1, DTRAIN_SUM};
  return dtrain_replica_apply(replica, &list, subtract, argument, NULL);
}

/* Sets *result = 5 - 2, and returns 0. */
int one_step_in_c(dtrain_context* context, double* result) {
  const double initial = 5;
  struct Training training = {NULL};
  dtrain_variable_options options = {0};
  dtrain_strategy* strategy = dtrain_strategy_create(context, NULL, NULL);
  int status = 1;
  options.struct_size = sizeof options;
  options.name = "w";
  options.count = 1;
  options.type = DTRAIN_FLOAT64;
  options.initial = &initial;
  if (strategy != NULL &&
      dtrain_variable_create(strategy, &options, &training.w, NULL) == DTRAIN_OK &&
      dtrain_strategy_run(strategy, step, &training, NULL) == DTRAIN_OK)
    status = dtrain_variable_read(training.w, result, NULL);
  dtrain_strategy_free(strategy);
  return status;
}
