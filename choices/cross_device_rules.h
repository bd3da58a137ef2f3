#pragma once

#include "base/result.h"
#include "choices/strategy_name.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The operation for tensors with up to `bytes_max` bytes.
struct CrossDeviceRule {
  CrossDeviceName name = {};
  std::string registered = {};  ///< the name of a program's own algorithm, instead of `name`
  size_t bytes_max = SIZE_MAX;
  bool operator==(const CrossDeviceRule&) const = default;
};
/// The operations of a strategy, by ascending bytes. The last rule has no limit.
using CrossDeviceRules = std::vector<CrossDeviceRule>;
inline constexpr size_t cross_device_rules_max = 8;

/// Reads one operation as parse_cross_device_name(). Or reads operations by size, in the form of
/// --algorithms: "reduction_to_one:64k:all_reduce:16m:@mine". A limit in bytes of a tensor belongs
/// to the operation before it. The names are reduction_to_one, hierarchical_copy, all_reduce,
/// nccl_all_reduce and @NAME, an algorithm that the program registers. Fails with Errc::input for
/// another text.
Result<CrossDeviceRules> parse_cross_device_rules(std::string_view text);
/// Returns the place of the rule that applies.
size_t cross_device_rule_for(const CrossDeviceRules& rules, size_t bytes);
/// Returns "ReductionToOneDevice on cpu", "AllReduce with 2 packs", or the operations by size.
std::string cross_device_text(const CrossDeviceRules& rules);

}  // namespace dt
