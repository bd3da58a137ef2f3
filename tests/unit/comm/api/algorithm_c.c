/* An algorithm of its own, as a C99 program registers it. */
#include "comm/include/dtrain/dtrain_algorithm.h"

int star_algorithm(const dtrain_algorithm_call* call, dtrain_steps* steps, void* user);

/* Rank 0 reduces all inputs and sends the result to each rank. */
int star_algorithm(const dtrain_algorithm_call* call, dtrain_steps* steps, void* user) {
  dtrain_range in = {0, 0, DTRAIN_PLACE_INPUT};
  dtrain_range out = {0, 0, DTRAIN_PLACE_OUTPUT};
  dtrain_step step = {-1, {0, 0, 0}, -1, {0, 0, 0}, DTRAIN_FOLD_REPLACE, {0, 0, 0}};
  int other;
  int status = DTRAIN_OK;
  ++*(int*)user;
  in.end = out.end = call->count;
  if (call->count == 0) return DTRAIN_OK;
  if (call->rank > 0) {
    step.send_to = 0;
    step.send = in;
    status = dtrain_steps_add(steps, step);
    step.send_to = -1;
    step.receive_from = 0;
    step.receive = out;
    return status == DTRAIN_OK ? dtrain_steps_add(steps, step) : status;
  }
  for (other = 1; other < call->size && status == DTRAIN_OK; ++other) {
    step.receive_from = other;
    step.receive = out;
    step.fold = DTRAIN_FOLD_OPERAND_FIRST;
    step.operand = other == 1 ? in : out;
    status = dtrain_steps_add(steps, step);
  }
  step.receive_from = -1;
  step.fold = DTRAIN_FOLD_REPLACE;
  step.send = out;
  for (other = 1; other < call->size && status == DTRAIN_OK; ++other) {
    step.send_to = other;
    status = dtrain_steps_add(steps, step);
  }
  return status;
}
