#include "comm/peer/message_parts.h"

#include "comm/training/ps/state/messages.h"
#include "tests/unit/comm/peer/ones.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr size_t long_bytes = PartsWriter::borrowed_bytes_min;

TEST_CASE("a message in parts has the bytes of one in one piece, and long arrays stay in place") {
  const Bytes first(long_bytes, std::byte{1});
  const Bytes second(long_bytes + 5, std::byte{2});
  const Bytes few(9, std::byte{3});
  Writer whole;
  PartsWriter writer;
  whole.number(uint8_t{7});
  writer.number(uint8_t{7});
  for (const Bytes* bytes : {&first, &few, &second, &few}) {
    encode_aligned(whole, *bytes);
    writer.borrow_aligned(*bytes);
  }
  const MessageParts message = writer.take_parts();
  CHECK(message.joined() == whole.take());
  REQUIRE(message.parts.size() == 5);
  CHECK(message.parts[1].bytes.data() == first.data());
  CHECK(message.parts[3].bytes.data() == second.data());
  CHECK(message.size() == message.joined().size());
}

TEST_CASE("a long array that is computed later is cut into parts, each computed when it is ready") {
  const auto ones = std::make_shared<Ones>(2 * PartsWriter::later_part_bytes + 1);
  PartsWriter writer;
  writer.borrow_later(ones->bytes, ones);
  writer.number(uint8_t{7});
  const MessageParts message = writer.take_parts();
  REQUIRE(message.parts.size() == 5);
  CHECK(ones->computed == 0);
  CHECK(message.parts[1].ready().back() == std::byte{1});
  CHECK(ones->computed == PartsWriter::later_part_bytes);
  CHECK(message.joined() == [&] {
    Writer whole;
    encode_aligned(whole, Bytes(ones->bytes.size(), std::byte{1}));
    return whole.number(uint8_t{7}).take();
  }());
}

TEST_CASE("a short array that is computed later is computed at once") {
  const auto ones = std::make_shared<Ones>(9);
  PartsWriter writer;
  writer.borrow_later(ones->bytes, ones);
  CHECK(ones->computed == 9);
  CHECK(writer.take_parts().joined().back() == std::byte{1});
}

TEST_CASE("a message keeps the owners of what it borrows") {
  const auto values = std::make_shared<const Bytes>(long_bytes);
  PartsWriter writer;
  writer.borrow_aligned(*values, values);
  {
    const MessageParts message = writer.take_parts();
    CHECK(values.use_count() == 2);
  }
  CHECK(values.use_count() == 1);
}

}  // namespace
}  // namespace dt
