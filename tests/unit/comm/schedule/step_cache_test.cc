#include "comm/schedule/step_cache.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr Group group = {.rank = 1, .size = 3};

CollectiveShape sum_of(size_t count) {
  return {.kind = OperationKind::all_reduce, .count = count, .element_bytes = 4};
}

TEST_CASE("the steps of a call are made once, and each call has its own") {
  StepCache cache(group);
  const Steps& first = cache.steps(sum_of(10), Algorithm::ring);
  CHECK(first == *steps_of(group, sum_of(10), Algorithm::ring));
  const Step* const made = first.data();
  CHECK(cache.steps(sum_of(11), Algorithm::ring) == *steps_of(group, sum_of(11), Algorithm::ring));
  CHECK(cache.steps(sum_of(10), Algorithm::recursive_doubling) ==
        *steps_of(group, sum_of(10), Algorithm::recursive_doubling));
  CollectiveShape in_place = sum_of(10);
  in_place.in_place = true;
  CHECK(cache.steps(in_place, Algorithm::ring) == *steps_of(group, in_place, Algorithm::ring));
  CollectiveShape from = {.kind = OperationKind::broadcast, .count = 10, .root = 0};
  CHECK(cache.steps(from, Algorithm::tree) == *steps_of(group, from, Algorithm::tree));
  from.root = 2;
  CHECK(cache.steps(from, Algorithm::tree) == *steps_of(group, from, Algorithm::tree));
  CHECK(cache.steps(sum_of(10), Algorithm::ring).data() == made);
}

TEST_CASE("the steps of the oldest call make room") {
  StepCache cache(group);
  for (size_t count = 1; count <= StepCache::calls_max; ++count)
    cache.steps(sum_of(count), Algorithm::ring);
  const Step* const second = cache.steps(sum_of(2), Algorithm::ring).data();
  cache.steps(sum_of(100), Algorithm::ring);
  CHECK(cache.steps(sum_of(2), Algorithm::ring).data() == second);
  CHECK(cache.steps(sum_of(1), Algorithm::ring) == *steps_of(group, sum_of(1), Algorithm::ring));
}

TEST_CASE("long lists and empty ones are not kept") {
  StepCache cache({.rank = 0, .size = 200});
  const Steps& steps = cache.steps(sum_of(1000), Algorithm::ring);
  CHECK(steps.size() > StepCache::steps_max);
  const Step* const made = steps.data();
  // The next list takes the place of such a one.
  CHECK(cache.steps(sum_of(1001), Algorithm::ring).data() != made);
  StepCache alone({.rank = 0, .size = 1});
  CollectiveShape in_place = sum_of(4);
  in_place.in_place = true;
  CHECK(alone.steps(in_place, Algorithm::ring) ==
        *steps_of({.rank = 0, .size = 1}, in_place, Algorithm::ring));
}

}  // namespace
}  // namespace dt
