#include "base/io/packets.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>

namespace dt {

TEST_CASE("a packet keeps its bounds and carries a descriptor") {
  auto pair = make_packet_pair();
  REQUIRE(pair);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  REQUIRE(send_packet(pair->ours.get(), {to_bytes("first"), std::move(pipe->write)}));
  REQUIRE(send_packet(pair->ours.get(), {to_bytes("second")}));
  const auto first = receive_packet(pair->theirs.get());
  REQUIRE((first && *first));
  CHECK(as_text((*first)->bytes) == "first");
  REQUIRE((*first)->descriptor);
  REQUIRE(write_all((*first)->descriptor.get(), as_bytes("x")));
  std::array<char, 4> read = {};
  CHECK(::read(pipe->read.get(), read.data(), read.size()) == 1);
  CHECK(read[0] == 'x');
  const auto second = receive_packet(pair->theirs.get());
  REQUIRE((second && *second));
  CHECK(as_text((*second)->bytes) == "second");
  CHECK_FALSE((*second)->descriptor);
}

TEST_CASE("the end of a packet socket") {
  auto pair = make_packet_pair();
  REQUIRE(pair);
  pair->theirs.reset();
  const auto sent = send_packet(pair->ours.get(), {to_bytes("x")});
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == Errc::closed);
  const auto received = receive_packet(pair->ours.get());
  REQUIRE(received);
  CHECK_FALSE(received->has_value());
}

}  // namespace dt
