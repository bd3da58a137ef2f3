#include "comm/collective/early_frames.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

void hold(EarlyFrames& frames, uint32_t stream, size_t bytes, unsigned char value) {
  std::ranges::fill(frames.hold(1, stream, bytes), std::byte{value});
  CHECK(frames.complete(1));
}

TEST_CASE(
    "early frames of a sender are used in their order, in parts, one stream after the other") {
  EarlyFrames frames(2);
  hold(frames, 7, 8, 1);
  hold(frames, 7, 4, 2);
  hold(frames, 8, 16, 3);
  CHECK(frames.held_bytes(1, 7) == 12);
  frames.use(1, 6);
  REQUIRE(frames.next(1, 7));
  CHECK(frames.next(1, 7)->size() == 2);
  frames.use(1, 2);
  CHECK(frames.next(1, 7)->front() == std::byte{2});
  CHECK_FALSE(frames.has(1, 8));
  frames.use(1, 4);
  CHECK_FALSE(frames.has(1, 7));
  CHECK(frames.next(1, 8)->size() == 16);
}

TEST_CASE(
    "a frame in arrival is used when it is complete, and a dropped stream leaves the others") {
  EarlyFrames frames(2);
  CHECK_FALSE(frames.complete(1));
  frames.hold(1, 7, 4);
  CHECK(frames.has(1, 7));
  CHECK_FALSE(frames.next(1, 7));
  CHECK(frames.complete(1));
  CHECK(frames.next(1, 7));
  hold(frames, 8, 4, 3);
  frames.drop(7);
  CHECK(frames.has(1, 8));
  CHECK(frames.any_stream() == uint32_t{8});
  frames.drop(8);
  CHECK_FALSE(frames.any_stream());
}

}  // namespace
}  // namespace dt
