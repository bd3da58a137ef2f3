#include "comm/ps/message_memory.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr size_t long_bytes = size_t{1} << 20;

TEST_CASE("the memory of a long message is used again when nobody refers to it") {
  MessageMemory memory;
  auto first = memory.take(long_bytes);
  const auto* const place = first->data();
  const auto second = memory.take(long_bytes);
  CHECK(second->data() != place);
  first.reset();
  const auto shorter = memory.take(long_bytes / 2);
  CHECK(shorter->data() == place);
  CHECK(shorter->size() == long_bytes / 2);
}

TEST_CASE("a much shorter message does not take the memory of a long one") {
  MessageMemory memory;
  auto first = memory.take(long_bytes);
  const auto* const place = first->data();
  first.reset();
  const auto shortest = memory.take(10);
  CHECK(shortest->size() == 10);
  const auto shorter = memory.take(long_bytes / 8);
  CHECK(shorter->size() == long_bytes / 8);
  CHECK(memory.take(long_bytes)->data() == place);
}

TEST_CASE("messages may live longer than the memory that they are of") {
  std::shared_ptr<Bytes> message;
  {
    MessageMemory memory;
    message = memory.take(long_bytes);
  }
  CHECK(message->size() == long_bytes);
}

}  // namespace
}  // namespace dt
