#pragma once

#include "comm/named/join.h"
#include "comm/named/name_coordinator.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

using Names = std::vector<uint64_t>;
inline constexpr Time start = Time(seconds(10));

inline NameArrival call(const std::string& name, size_t count = 4) {
  return {.descriptor = {.kind = OperationKind::all_reduce,
                         .count = count,
                         .name_hash = hash_of_name(name),
                         .name = name}};
}

inline NameCoordinator coordinator(int ranks, size_t bucket_bytes = 1000) {
  NameCoordinator::Options options{.bucket_bytes = bucket_bytes, .fused_bytes_max = 400};
  for (int rank = 0; rank < ranks; ++rank)
    options.job_ranks.push_back(rank * 2);
  return NameCoordinator(options);
}

inline NameArrival join_call() {
  return {.descriptor = {.kind = OperationKind::join, .name_hash = join_hash()}};
}

}  // namespace dt
