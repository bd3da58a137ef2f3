#pragma once

#include "comm/training/ps/state/variable.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The server of each shard.
enum class PlacementRule : uint8_t {
  round_robin,  ///< in turn, in the order of declaration, as replica_device_setter of TensorFlow
  greedy,       ///< the one with the fewest bytes, in the order of declaration, as TensorFlow's
                ///< GreedyLoadBalancingStrategy with byte_size_load_fn
  lpt,          ///< as greedy, but the largest shards of one declaration first (longest processing
                ///< time first: Graham, 1969)
  hash,         ///< by the name, so that it depends on no other variable
};

/// The division of a variable by its rows. Each shard has as many, and the first ones one more
/// ("div" of TensorFlow). At most one of the sizes counts: the first that is not 0.
struct ShardingRule {
  uint32_t fixed = 0;      ///< so many shards, as fixed_size_partitioner
  uint64_t bytes_max = 0;  ///< shards of at most so many bytes, as MaxSizePartitioner
  uint64_t bytes_min = 0;  ///< up to one for each server, of at least so many bytes each, as
                           ///< MinSizePartitioner
};
inline constexpr uint64_t shard_bytes_min_default = uint64_t{256} << 10;

/// Returns the rows of each shard of a variable.
std::vector<uint64_t> shard_rows(const VariableSpec& variable, const ShardingRule& rule,
                                 uint32_t servers);

struct PlacedShard {
  ShardSpec shard;
  uint32_t server = 0;
  bool operator==(const PlacedShard&) const = default;
};

/// Places variables on servers. Equal declarations give equal places, so that the workers need not
/// agree.
class Placement {
 public:
  struct Options {
    uint32_t servers = 1;
    PlacementRule rule = PlacementRule::lpt;
    ShardingRule sharding = {.bytes_min = shard_bytes_min_default};
  };
  explicit Placement(Options options) : options_(options), loads_(options.servers) {}

  /// Places further variables. Returns their shards, by variable and row.
  std::vector<PlacedShard> add(std::span<const VariableSpec> variables);

  uint32_t variables() const { return static_cast<uint32_t>(names_.size()); }
  /// The bytes of values on each server.
  const std::vector<uint64_t>& loads() const { return loads_; }
  /// Returns a line for each shard, and the bytes of each server.
  std::string table() const;

 private:
  struct Line {
    PlacedShard placed;
    uint64_t bytes = 0;
  };
  uint32_t choose(const std::string& name, uint64_t first_row);

  Options options_;
  std::vector<uint64_t> loads_;
  std::vector<std::string> names_;
  std::vector<Line> lines_;
  uint32_t next_ = 0;  ///< of round_robin
};

}  // namespace dt
