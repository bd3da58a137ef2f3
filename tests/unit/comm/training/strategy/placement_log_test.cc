#include "comm/training/strategy/placement_log.h"

#include "base/io/fd.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>

namespace dt {
namespace {

TEST_CASE("sentences are kept, and printed only with a prefix") {
  std::array<int, 2> ends = {};
  REQUIRE(::pipe(ends.data()) == 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const Fd stderr_before(::dup(STDERR_FILENO));
  ::dup2(writing.get(), STDERR_FILENO);
  PlacementLog silent;
  silent.add("variable w is on cpu:0");
  PlacementLog printing("dtrain: worker:1");
  printing.add("replica 0 is on cpu:1");
  printing.add("variable w is on cpu:0");
  ::dup2(stderr_before.get(), STDERR_FILENO);
  CHECK(silent.text() == "variable w is on cpu:0\n");
  CHECK(printing.text() == "replica 0 is on cpu:1\nvariable w is on cpu:0\n");
  std::array<char, 200> printed = {};
  const ssize_t size = ::read(reading.get(), printed.data(), printed.size());
  REQUIRE(size > 0);
  CHECK(std::string(printed.data(), static_cast<size_t>(size)) ==
        "dtrain: worker:1: replica 0 is on cpu:1\ndtrain: worker:1: variable w is on cpu:0\n");
}

}  // namespace
}  // namespace dt
