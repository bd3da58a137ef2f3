#pragma once

// The options of strategies, and the parts of a data set. Programs include dtrain_strategy.hpp.

#include "dtrain_strategy.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

/// As dtrain_strategy_options; what is empty comes from the environment.
struct StrategyOptions {
  std::string name = {};
  std::string devices = {};
  std::string cross_device_op = {};
  std::size_t bytes_per_pack = 0;
  std::chrono::milliseconds timeout = {};
  bool asynchronous = false;
  std::string ps_mode = {};
  std::string communication = {};
  bool soft_placement = false;
  bool log_placement = false;
};

enum class Synchronization { on_write = DTRAIN_ON_WRITE, on_read = DTRAIN_ON_READ };
enum class Aggregation {
  sum = DTRAIN_AGGREGATE_SUM,
  mean = DTRAIN_AGGREGATE_MEAN,
  first_replica = DTRAIN_AGGREGATE_FIRST_REPLICA,
};

struct VariableOptions {
  Synchronization synchronization = Synchronization::on_write;
  Aggregation aggregation = Aggregation::sum;
  bool slot = false;        ///< a number of an optimiser; see dtrain_variable_options
  std::string device = {};  ///< of the only copy; empty: the strategy decides
};

/// Positions begin to end - 1.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Returns part `index` of `count` consecutive parts, whose sizes differ by one at most. A part may
/// be empty; all parts together are the whole range.
inline Range shard(Range whole, std::size_t index, std::size_t count) {
  const std::size_t each = whole.size() / count;
  const std::size_t more = whole.size() % count;
  const std::size_t begin = whole.begin + each * index + std::min(index, more);
  return {begin, begin + each + (index < more ? 1 : 0)};
}

/// Returns every `count`-th name, from `index` on.
inline std::vector<std::string> shard_files(std::span<const std::string> files, std::size_t index,
                                            std::size_t count) {
  std::vector<std::string> ours;
  for (std::size_t i = index; i < files.size(); i += count)
    ours.push_back(files[i]);
  return ours;
}

}  // namespace dtrain
