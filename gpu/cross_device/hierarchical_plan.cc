#include "gpu/cross_device/hierarchical_plan.h"

#include <cassert>

namespace dt {

HierarchicalPlan hierarchical_plan(size_t tensor, size_t devices) {
  assert(devices >= 2);
  HierarchicalPlan plan;
  plan.half = devices / 2;
  plan.main = tensor % devices;
  plan.other_main = (plan.main + plan.half) % devices;
  const bool main_is_first = plan.main < plan.half;
  plan.first = main_is_first ? plan.main : plan.other_main;
  plan.second = main_is_first ? plan.other_main : plan.main;
  return plan;
}

}  // namespace dt
