/* Every process prints its rank and the result of one all_reduce:
 *   dtrain run -np 4 hello
 */

#include <dtrain/dtrain.h>
#include <stdio.h>

static int fail(const dtrain_error* error) {
  fprintf(stderr, "hello: %s\n", error->text);
  return 1;
}

int main(void) {
  dtrain_error error = DTRAIN_ERROR_INIT;
  dtrain_context* world = dtrain_init(NULL, &error);
  if (world == NULL) return fail(&error);

  const int rank = dtrain_rank(world);
  int sum = rank;
  const dtrain_buffers buffers = {.output = &sum, .count = 1, .type = DTRAIN_INT32};
  const int status = dtrain_all_reduce(world, buffers, DTRAIN_SUM, NULL, &error);
  if (status == DTRAIN_OK) {
    printf("rank %d of %d on %s: the ranks add up to %d\n", rank, dtrain_size(world),
           dtrain_host(world), sum);
  }
  dtrain_finalize(world);
  return status == DTRAIN_OK ? 0 : fail(&error);
}
