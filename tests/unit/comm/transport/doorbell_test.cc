#include "comm/transport/doorbell.h"

#include <doctest/doctest.h>

#include <poll.h>

namespace dt {
namespace {

bool readable(const Fd& doorbell) {
  pollfd fd = {.fd = doorbell.get(), .events = POLLIN, .revents = 0};
  return poll(&fd, 1, 0) == 1;
}

TEST_CASE("a doorbell is readable from a ring until it is silenced") {
  const Fd doorbell = make_doorbell().value();
  CHECK(!readable(doorbell));
  ring(doorbell.get());
  ring(doorbell.get());
  CHECK(readable(doorbell));
  silence(doorbell.get());
  CHECK(!readable(doorbell));
  silence(doorbell.get());  // does not block
  ring(doorbell.get());
  CHECK(readable(doorbell));
}

}  // namespace
}  // namespace dt
