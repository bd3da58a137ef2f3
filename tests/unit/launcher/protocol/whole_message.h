#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <doctest/doctest.h>

#include <random>

namespace dt {

/// Checks that a message is read back from its bytes, and from neither fewer nor more of them.
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

/// Checks that random bytes give a message that has the same bytes again, or an error.
template <class Message>
void check_any_bytes() {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(random() % 64);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random() % (i % 2 == 0 ? 4 : 256));
    if (const auto message = decode<Message>(bytes))
      REQUIRE(decode<Message>(encode(*message)).value() == *message);
  }
}

}  // namespace dt
