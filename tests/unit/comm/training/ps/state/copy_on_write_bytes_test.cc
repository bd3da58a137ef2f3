#include "comm/training/ps/state/copy_on_write_bytes.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("bytes that are shared stay as they are when their owner changes them") {
  CopyOnWriteBytes values(2);
  values.writable()[0] = std::byte{1};
  const ByteSpan before = values.view();
  auto kept = values.share();
  values.writable()[0] = std::byte{2};
  CHECK(before[0] == std::byte{1});
  CHECK(values.view()[0] == std::byte{2});
  CHECK(values.view().data() != before.data());
}

TEST_CASE("bytes that are not shared change in place") {
  CopyOnWriteBytes values(2);
  const auto* const place = values.view().data();
  auto kept = values.share();
  kept.reset();
  CHECK(values.writable().data() == place);
}

TEST_CASE("the memory of the copy before is used again once no reply refers to it") {
  CopyOnWriteBytes values(2);
  const auto* const place = values.view().data();
  auto kept = values.share();
  values.writable()[1] = std::byte{5};
  kept = values.share();  // the first copy is free now
  values.writable()[0] = std::byte{6};
  CHECK(values.view().data() == place);
  CHECK(values.view()[0] == std::byte{6});
  CHECK(values.view()[1] == std::byte{5});
}

TEST_CASE("a copy of shared bytes has its own when it changes") {
  CopyOnWriteBytes values(1);
  CopyOnWriteBytes copy = values;
  CHECK(copy.view().data() == values.view().data());
  copy.writable()[0] = std::byte{1};
  CHECK(copy.view()[0] == std::byte{1});
  CHECK(values.view()[0] == std::byte{0});
}

}  // namespace
}  // namespace dt
