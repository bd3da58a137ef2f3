#include "launcher/protocol/node_messages.h"

#include <doctest/doctest.h>

#include <random>

namespace dt {
namespace {

template <class Message>
void check_whole(const Message& message) {
  const Bytes bytes = encode(message);
  CHECK(decode<Message>(bytes).value() == message);
  for (size_t n = 0; n < bytes.size(); ++n)
    CHECK(!decode<Message>(ByteSpan(bytes).first(n)));
  Bytes longer = bytes;
  longer.emplace_back();
  CHECK(!decode<Message>(longer));
}

TEST_CASE("messages of nodes are read back, and only whole") {
  check_whole(NodeIntro{"0.9", "trainer-1", 4, "gpu", {"python", "train.py", ""}});
  check_whole(Dismissed{143, "interrupted by SIGTERM"});
  check_whole(Leaving{"it got SIGTERM"});
}

TEST_CASE("any bytes give a message of a node or an error") {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(random() % 64);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random() % (i % 2 == 0 ? 4 : 256));
    if (const auto intro = decode<NodeIntro>(bytes))
      REQUIRE(decode<NodeIntro>(encode(*intro)).value() == *intro);
    if (const auto dismissed = decode<Dismissed>(bytes))
      REQUIRE(decode<Dismissed>(encode(*dismissed)).value() == *dismissed);
    if (const auto leaving = decode<Leaving>(bytes))
      REQUIRE(decode<Leaving>(encode(*leaving)).value() == *leaving);
  }
}

}  // namespace
}  // namespace dt
