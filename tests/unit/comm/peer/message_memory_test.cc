#include "comm/peer/message_memory.h"

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

TEST_CASE("memory that no message has used for a while is freed, and no other") {
  MessageMemory memory;
  const Time start{seconds(100)};
  const Time limit = start + MessageMemory::unused_max;
  CHECK(memory.free_unused(start) == Time::max());
  auto message = memory.take(long_bytes);
  const auto* const place = message->data();
  // Nothing is kept while the message has the block.
  CHECK(memory.free_unused(start) == Time::max());
  message.reset();
  CHECK(memory.free_unused(start + seconds(1)) == limit);
  CHECK(memory.take(10)->size() == 10);
  CHECK(memory.free_unused(limit - Duration(1)) == limit);
  message = memory.take(long_bytes);
  CHECK(message->data() == place);
  message.reset();
  // It was used again, so its time begins anew.
  const Time later = limit + seconds(1);
  CHECK(memory.free_unused(later) == later + MessageMemory::unused_max);
  CHECK(memory.free_unused(later + MessageMemory::unused_max) == Time::max());
  CHECK(memory.take(long_bytes / 2)->capacity() == long_bytes / 2);
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
