#pragma once

#include <cstddef>

namespace dt {

/// Which devices do the work for one tensor of a hierarchical all-reduce. The devices before `half`
/// are one half, the others the second one. Where the number is odd, the second is larger.
struct HierarchicalPlan {
  size_t half = 0;
  size_t main = 0;        ///< makes the result
  size_t other_main = 0;  ///< gets it first
  size_t first = 0;       ///< the one of these two that reduces the first half
  size_t second = 0;      ///< the other one
  bool operator==(const HierarchicalPlan&) const = default;

  /// The device from which `device` copies the result.
  size_t leader(size_t device) const { return device < half ? first : second; }
};

/// The main devices rotate with the tensor. Each half is reduced by one of its members where a main
/// device is a member. With an odd number, both may be members of the second half. Requires at
/// least two devices.
HierarchicalPlan hierarchical_plan(size_t tensor, size_t devices);

}  // namespace dt
