#include "comm/memory/range_list.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace dt {
namespace {

constexpr size_t page = RangeList::page_bytes;
constexpr size_t huge = RangeList::huge_page_bytes;
using Range = RangeList::Range;

TEST_CASE("ranges have whole pages, and the first hole that is large enough") {
  RangeList list(16 * page);
  CHECK(list.take(1) == Range{0, page});
  CHECK(list.take(page + 1) == Range{page, 2 * page});
  CHECK(list.take(0) == Range{3 * page, page});
  CHECK(list.give_back(page) == Range{page, 2 * page});
  CHECK(list.take(3 * page) == Range{4 * page, 3 * page});
  CHECK(list.take(2 * page) == Range{page, 2 * page});
  CHECK(list.taken().size() == 4);
}

TEST_CASE("what does not fit is not taken") {
  RangeList list(4 * page + 5);
  CHECK(list.largest_free() == 4 * page);
  CHECK(!list.take(4 * page + 1));
  CHECK(!list.take(SIZE_MAX));
  CHECK(list.take(4 * page));
  CHECK(!list.take(1));
  CHECK(list.largest_free() == 0);
}

TEST_CASE("a range that is given back joins its free neighbours") {
  RangeList list(6 * page);
  for (int i = 0; i < 6; ++i)
    REQUIRE(list.take(page));
  for (const size_t begin : {1, 3, 2, 5, 4, 0})
    CHECK(list.give_back(begin * page) == Range{begin * page, page});
  CHECK(list.take(6 * page) == Range{0, 6 * page});
}

TEST_CASE("only the begin of a taken range can be given back, once") {
  RangeList list(8 * page);
  REQUIRE(list.take(3 * page));
  CHECK(!list.give_back(page));
  CHECK(!list.give_back(4 * page));
  CHECK(list.give_back(0));
  CHECK(!list.give_back(0));
}

TEST_CASE("a range of a huge page or more begins at one, and small ranges fill the gap") {
  RangeList list(4 * huge);
  CHECK(list.take(page) == Range{0, page});
  CHECK(list.take(huge + 1) == Range{huge, huge + page});
  CHECK(list.take(page) == Range{page, page});
  CHECK(list.take(huge) == Range{3 * huge, huge});
  // As many bytes are free, but not behind the begin of a huge page.
  CHECK(list.largest_free() == huge - page);
  CHECK(!list.take(huge));
}

TEST_CASE("any order of taking and giving back leaves the whole space") {
  RangeList list(64 * huge);
  std::vector<size_t> begins;
  uint64_t state = 7;
  for (int i = 0; i < 4000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto random = static_cast<size_t>(state >> 33);
    if (begins.empty() || random % 3 != 0) {
      if (const auto range = list.take(random % (3 * huge))) begins.push_back(range->begin);
    } else {
      const size_t at = random % begins.size();
      REQUIRE(list.give_back(begins[at]));
      begins.erase(begins.begin() + static_cast<std::ptrdiff_t>(at));
    }
    size_t end = 0;
    for (const auto& [begin, bytes] : list.taken()) {
      REQUIRE(begin >= end);
      end = begin + bytes;
    }
  }
  for (const size_t begin : begins)
    REQUIRE(list.give_back(begin));
  CHECK(list.largest_free() == 64 * huge);
}

}  // namespace
}  // namespace dt
