#include "comm/shared/write_speed.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr size_t block = 65536;
constexpr Duration slow(block / 2);
constexpr Duration fast(block / 10);

void add(WriteSpeed& speed, Duration took, int samples) {
  for (int i = 0; i < samples; ++i)
    speed.add(block, took);
}

/// Counts the samples until the slow state ends.
int slow_samples(WriteSpeed& speed) {
  int samples = 0;
  for (; speed.slow(); ++samples)
    speed.add(block, fast);
  return samples;
}

TEST_CASE("one write of eight is measured") {
  WriteSpeed speed;
  int due = 0;
  for (int i = 0; i < 80; ++i)
    due += speed.due() ? 1 : 0;
  CHECK(due == 10);
}

TEST_CASE("a member writes slowly after four slow samples in a row") {
  WriteSpeed speed;
  add(speed, slow, 3);
  add(speed, fast, 1);
  add(speed, slow, 3);
  CHECK(!speed.slow());
  add(speed, slow, 1);
  CHECK(speed.slow());
}

TEST_CASE("small writes do not count") {
  WriteSpeed speed;
  for (int i = 0; i < 100; ++i)
    speed.add(100, seconds(1));
  CHECK(!speed.slow());
}

TEST_CASE("the slow state ends, and lasts twice as long the next time, up to a limit") {
  WriteSpeed speed;
  add(speed, slow, 4);
  CHECK(slow_samples(speed) == 256);
  add(speed, slow, 4);
  CHECK(slow_samples(speed) == 512);
  for (int i = 0; i < 12; ++i) {
    add(speed, slow, 4);
    slow_samples(speed);
  }
  add(speed, slow, 4);
  CHECK(slow_samples(speed) == 65536);
}

TEST_CASE("many fast samples make the next slow state short again, and a few do not") {
  WriteSpeed speed;
  add(speed, slow, 4);
  slow_samples(speed);
  add(speed, fast, 32);
  add(speed, slow, 4);
  CHECK(slow_samples(speed) == 512);
  add(speed, fast, 64);
  add(speed, slow, 4);
  CHECK(slow_samples(speed) == 256);
}

}  // namespace
}  // namespace dt
