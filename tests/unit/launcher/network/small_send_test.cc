#include "launcher/network/small_send.h"

#include "base/io/fd.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <cstddef>

namespace dt {
namespace {

TEST_CASE("small messages arrive whole, and a full or broken connection is an error") {
  SocketPair pair = make_socketpair().value();
  REQUIRE(set_nonblocking(pair.ours.get()).has_value());
  CHECK(send_small(pair.ours.get(), as_bytes("nonce")).has_value());
  std::array<char, 8> room = {};
  CHECK(::read(pair.theirs.get(), room.data(), room.size()) == 5);
  const Bytes more(size_t{1} << 20);
  while (send_small(pair.ours.get(), more)) {
  }
  CHECK(send_small(pair.ours.get(), more).error() ==
        Error{Errc::closed, "the connection is stuck"});
  pair.theirs.reset();
  const auto broken = send_small(pair.ours.get(), more);
  REQUIRE_FALSE(broken.has_value());
  CHECK(broken.error().code == Errc::os);
}

}  // namespace
}  // namespace dt
