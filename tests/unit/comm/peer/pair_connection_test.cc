#include "comm/peer/pair_connection.h"

#include "base/bytes.h"
#include "tests/unit/comm/peer/connected_pair.h"

#include <poll.h>

#include <cstddef>

namespace dt {
namespace {

bool rings(const Fd& doorbell) {
  pollfd fd = {.fd = doorbell.get(), .events = POLLIN, .revents = 0};
  return poll(&fd, 1, 0) == 1;
}

TEST_CASE("a task that sleeps is woken by bytes, and one that is awake sees them") {
  ConnectedPair pair;
  const Bytes bytes(100, std::byte{7});
  pair.acceptor->begin_round();
  CHECK_FALSE(pair.acceptor->changed(false));
  REQUIRE(pair.acceptor->fall_asleep(false));
  REQUIRE(pair.dialer->link().send(bytes).value() == 100);
  CHECK(rings(pair.acceptor_doorbell));
  CHECK(pair.acceptor->changed(false));
  pair.acceptor->wake_up();
  silence(pair.acceptor_doorbell.get());

  CHECK_FALSE(pair.acceptor->fall_asleep(false));
  REQUIRE(pair.dialer->link().send(bytes).value() == 100);
  CHECK_FALSE(rings(pair.acceptor_doorbell));
  pair.acceptor->begin_round();
  CHECK_FALSE(pair.acceptor->changed(false));
  Bytes into(200);
  CHECK(pair.acceptor->link().receive(into).value() == 200);
  CHECK(into == Bytes(200, std::byte{7}));
}

TEST_CASE("room in the ring is a change for a task with unsent bytes only") {
  ConnectedPair pair;
  const Bytes much(PairMemory::ring_bytes + 1);
  pair.dialer->begin_round();
  REQUIRE(pair.dialer->link().send(much).value() == PairMemory::ring_bytes);
  REQUIRE(pair.dialer->fall_asleep(true));
  Bytes into(100);
  REQUIRE(pair.acceptor->link().receive(into).value() == 100);
  CHECK(rings(pair.dialer_doorbell));
  CHECK(pair.dialer->changed(true));
  CHECK_FALSE(pair.dialer->changed(false));
}

TEST_CASE("the end of the other task is seen behind its bytes") {
  ConnectedPair pair;
  REQUIRE(pair.dialer->link().send(Bytes(8)).value() == 8);
  pair.acceptor->look_for_end();
  pair.dialer.reset();
  pair.acceptor->look_for_end();
  Bytes into(8);
  CHECK(pair.acceptor->link().receive(into).value() == 8);
  CHECK(pair.acceptor->link().receive(into).error().code == Errc::closed);
}

}  // namespace
}  // namespace dt
