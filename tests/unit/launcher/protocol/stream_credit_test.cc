#include "launcher/protocol/stream_credit.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr uint32_t window = stream_window_bytes;

TEST_CASE("StreamCredit allows a window of bytes, and more as the other end grants it") {
  StreamCredit end;
  CHECK(end.room() == window);
  end.sent(window - 1);
  CHECK(end.room() == 1);
  end.sent(1);
  CHECK(end.room() == 0);
  CHECK(end.granted(7));
  CHECK(end.room() == 7);
}

TEST_CASE("StreamCredit: credit for more than was sent is a protocol error") {
  StreamCredit end;
  CHECK_FALSE(end.granted(1));
  end.sent(10);
  CHECK(end.granted(10));
  const auto again = end.granted(1);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Errc::protocol);
  end.sent(3);
  CHECK_FALSE(end.granted(UINT32_MAX));
}

TEST_CASE("StreamCredit: bytes beyond the credit are a protocol error") {
  StreamCredit end;
  CHECK(end.received(window));
  CHECK_FALSE(end.received(1));
  StreamCredit other;
  CHECK_FALSE(other.received(size_t{window} + 1));
  CHECK_FALSE(other.received(size_t{1} << 40));
}

TEST_CASE("StreamCredit grants what was written, a quarter of the window at a time") {
  StreamCredit end;
  CHECK(end.to_grant(0) == 0);
  CHECK(end.received(window / 4 - 1));
  CHECK(end.to_grant(0) == 0);
  CHECK(end.received(window / 2));
  CHECK(end.to_grant(window / 2) == 0);
  CHECK(end.to_grant(1) == window / 4 * 3 - 2);
  // The granted bytes may arrive again; the byte that is still here counts against the window.
  CHECK(end.received(window - 1));
  CHECK_FALSE(end.received(1));
  CHECK(end.to_grant(0) == window);
}

TEST_CASE("two ends of a stream never block while bytes are left") {
  StreamCredit sender;
  StreamCredit receiver;
  size_t left = size_t{10} << 20;
  size_t unwritten = 0;
  for (int round = 0; left > 0; ++round) {
    REQUIRE(round < 10'000);
    const size_t size = std::min<size_t>({left, sender.room(), 50'000});
    sender.sent(size);
    REQUIRE(receiver.received(size));
    unwritten += size;
    left -= size;
    unwritten -=
        std::min<size_t>(unwritten, 20'000);  // the socket writes more slowly than bytes arrive
    const uint32_t grant = receiver.to_grant(unwritten);
    REQUIRE(sender.granted(grant));
  }
}

}  // namespace
}  // namespace dt
