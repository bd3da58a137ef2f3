#include "comm/api/no_cancellation.h"

#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <pthread.h>

namespace dt {
namespace {

struct Cancelled {
  dtrain_context* context = nullptr;
  int status = -100;
  bool continued = false;  ///< after the call
};

/// Cancels its own thread, then makes a call that waits.
void* wait_cancelled(void* given) {
  auto& cancelled = *static_cast<Cancelled*>(given);
  pthread_cancel(pthread_self());
  const dtrain_op_options options = {.struct_size = sizeof options, .timeout_ms = 20};
  cancelled.status =
      dtrain_store_wait(cancelled.context, "a key that is never set", nullptr, &options, nullptr);
  pthread_testcancel();
  cancelled.continued = true;
  return nullptr;
}

TEST_CASE("a thread is cancelled when its call has ended, and the context stays usable") {
  const Alone alone;
  Cancelled cancelled{.context = alone.context};
  pthread_t thread = {};
  REQUIRE(pthread_create(&thread, nullptr, wait_cancelled, &cancelled) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(cancelled.status == DTRAIN_ERROR_TIMEOUT);
  CHECK(!cancelled.continued);
  CHECK(dtrain_barrier(alone.context, nullptr, nullptr) == DTRAIN_OK);
}

TEST_CASE("a thread that cannot be cancelled stays so after the scope") {
  int before = -1;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  { const NoCancellation no_cancellation; }
  int after = -1;
  pthread_setcancelstate(before, &after);
  CHECK(after == PTHREAD_CANCEL_DISABLE);
}

}  // namespace
}  // namespace dt
