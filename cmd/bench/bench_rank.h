#pragma once

#include "base/result.h"
#include "cmd/bench/collective_world.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A process of the measured job.
struct BenchRank {
  int64_t pid = 0;
  std::string host = {};
  std::string device = {};   ///< "cuda:0"; empty: its buffers lie in memory of the host
  std::string uuid = {};     ///< of its GPU; empty: it has none
  std::string model = {};    ///< likewise
  std::string failure = {};  ///< why it has no device
  bool operator==(const BenchRank&) const = default;
};

/// Returns all ranks. Collective. Cuts long texts.
Result<std::vector<BenchRank>> exchange_ranks(CollectiveWorld& world, const BenchRank& own);

/// Returns the failure of the first rank that has one, with the rank and its host.
std::optional<Error> first_failure(const std::vector<BenchRank>& ranks);

/// Returns a sentence for each device that several ranks have.
std::vector<std::string> shared_devices(const std::vector<BenchRank>& ranks);

}  // namespace dt
