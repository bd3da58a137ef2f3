#pragma once

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dt {

/// The hash by which joins match; a join has no name.
inline uint64_t join_hash() {
  return hash_of_name("");
}

/// Returns why a call is impossible while these ranks of the group have joined; empty when it is
/// possible. Such ranks can only contribute to reductions, and cannot be the root.
std::string obstacle_of_joined(const Descriptor& call, std::span<const int> joined);
/// Returns the call of a rank that has joined. It contributes the identity of the reduction, from
/// its own memory. Requires that nothing is in the way.
std::shared_ptr<Operation> joined_call(const Descriptor& call, int ranks);
/// Ends a join with its result: the rank of the group that joined last.
void end_join(Operation& join, int last);

}  // namespace dt
