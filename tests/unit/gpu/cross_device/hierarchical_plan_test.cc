#include "gpu/cross_device/hierarchical_plan.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the main devices rotate with the tensor, half a circle apart") {
  struct Case {
    size_t tensor;
    size_t devices;
    HierarchicalPlan plan;
  };
  const Case cases[] = {
      {0, 2, {.half = 1, .main = 0, .other_main = 1, .first = 0, .second = 1}},
      {1, 2, {.half = 1, .main = 1, .other_main = 0, .first = 0, .second = 1}},
      {0, 3, {.half = 1, .main = 0, .other_main = 1, .first = 0, .second = 1}},
      {1, 3, {.half = 1, .main = 1, .other_main = 2, .first = 2, .second = 1}},
      {2, 3, {.half = 1, .main = 2, .other_main = 0, .first = 0, .second = 2}},
      {3, 3, {.half = 1, .main = 0, .other_main = 1, .first = 0, .second = 1}},
      {1, 8, {.half = 4, .main = 1, .other_main = 5, .first = 1, .second = 5}},
      {6, 8, {.half = 4, .main = 6, .other_main = 2, .first = 2, .second = 6}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.tensor);
    CAPTURE(c.devices);
    CHECK(hierarchical_plan(c.tensor, c.devices) == c.plan);
  }
}

TEST_CASE("two devices share the halves, and every main device gets its turn") {
  for (size_t n = 2; n <= 9; ++n) {
    CAPTURE(n);
    for (size_t tensor = 0; tensor < 2 * n; ++tensor) {
      CAPTURE(tensor);
      const HierarchicalPlan plan = hierarchical_plan(tensor, n);
      CHECK(plan.main == tensor % n);
      CHECK(plan.main != plan.other_main);
      CHECK((plan.first == plan.main) != (plan.first == plan.other_main));
      CHECK((plan.second == plan.main) != (plan.second == plan.other_main));
      CHECK(plan.first != plan.second);
      CHECK(plan.second >= plan.half);
      if (n % 2 == 0) CHECK(plan.first < plan.half);
      CHECK(plan.leader(0) == plan.first);
      CHECK(plan.leader(n - 1) == plan.second);
    }
  }
}

}  // namespace
}  // namespace dt
