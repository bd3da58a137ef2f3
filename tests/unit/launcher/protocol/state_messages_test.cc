#include "launcher/protocol/state_messages.h"

#include <doctest/doctest.h>

#include <random>

namespace dt {
namespace {

template <class Message>
void check_round_trip(const Message& message) {
  const Bytes bytes = encode(message);
  CHECK(decode<Message>(bytes).value() == message);
  for (size_t n = 0; n < bytes.size(); ++n)
    CHECK(!decode<Message>(ByteSpan(bytes).first(n)));
  Bytes longer = bytes;
  longer.emplace_back();
  CHECK(!decode<Message>(longer));
}

TEST_CASE("questions for states and their answers are read back, and only whole") {
  check_round_trip(StatesWanted{{{{"worker", 3}, 4711}, {{"ps", 0}, 0}}});
  check_round_trip(States{{{{"worker", 3}, {4711, 'D', "nfs_wait"}}, {{"ps", 0}, {}}}});
}

TEST_CASE("any bytes give states or an error") {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(random() % 64);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random() % (i % 2 == 0 ? 4 : 256));
    if (const auto states = decode<States>(bytes))
      REQUIRE(decode<States>(encode(*states)).value() == *states);
    if (const auto wanted = decode<StatesWanted>(bytes))
      REQUIRE(decode<StatesWanted>(encode(*wanted)).value() == *wanted);
  }
}

}  // namespace
}  // namespace dt
