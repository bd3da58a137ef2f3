#include "base/io/frame.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr FrameHeader header = {.length = 5, .type = 9, .generation = 3, .stream = 77};

Bytes frame(std::string_view payload) {
  Bytes bytes;
  append_frame(bytes, header, as_bytes(payload));
  return bytes;
}

TEST_CASE("a frame is read back as it was written") {
  const Bytes bytes = frame("hello");
  const auto read = front_frame(bytes);
  REQUIRE(read);
  REQUIRE(*read);
  CHECK((*read)->header == header);
  CHECK(as_text((*read)->payload) == "hello");
}

TEST_CASE("the header has this layout on the wire") {
  const char expected[] = "\x05\0\0\0\x01\x09\0\0\x03\0\0\0\x4d\0\0\0hello";
  CHECK(as_text(frame("hello")) == std::string_view(expected, sizeof expected - 1));
}

TEST_CASE("no cut of a frame is a frame") {
  const Bytes bytes = frame("hello");
  for (size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const auto read = front_frame(ByteSpan(bytes).first(size));
    REQUIRE(read);
    CHECK(!*read);
  }
}

TEST_CASE("frames follow each other in one buffer") {
  Bytes bytes = frame("hello");
  append_frame(bytes, {.type = 1}, {});
  const auto second = front_frame(ByteSpan(bytes).subspan(frame_header_bytes + 5));
  REQUIRE(second);
  REQUIRE(*second);
  CHECK((*second)->header == FrameHeader{.type = 1});
  CHECK((*second)->payload.empty());
}

TEST_CASE("what cannot be a frame is refused by its header alone") {
  struct Case {
    size_t offset;
    std::byte value;
    const char* message;
  };
  const Case cases[] = {
      {4, std::byte{2}, "frame version 2, this build speaks 1"},
      {6, std::byte{1}, "frame with reserved bits set"},
      {7, std::byte{128}, "frame with reserved bits set"},
      {3, std::byte{255}, "frame length 4278190085 > 1048576"},
      {2, std::byte{16}, "frame length 1048581 > 1048576"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    Bytes bytes = frame("hello");
    bytes[c.offset] = c.value;
    const auto read = front_frame(ByteSpan(bytes).first(frame_header_bytes));
    REQUIRE(!read);
    CHECK(read.error() == Error{Errc::protocol, c.message});
  }
}

TEST_CASE("the longest payload passes") {
  const Bytes bytes = frame(std::string(frame_payload_bytes_max, 'x'));
  const auto read = front_frame(bytes);
  REQUIRE(read);
  REQUIRE(*read);
  CHECK((*read)->payload.size() == frame_payload_bytes_max);
}

}  // namespace
}  // namespace dt
