#pragma once

#include "launcher/config/config.h"

#include <optional>

namespace dt {

/// --nnodes MIN:MAX. N stands for N:N.
struct NodeRange {
  int least = 1;
  int most = 1;
  bool operator==(const NodeRange&) const = default;
};
/// Reads --nnodes; none where it is not given.
Result<std::optional<NodeRange>> read_node_range(const OptionSources& sources);

/// Reads the options that decide how often a job starts again, on which hosts, and with how many
/// ranks. Requires that all other options for hosts and tasks are read.
Result<> read_restart_settings(const OptionSources& sources, const TextReader& read_text,
                               RunConfig& config);

}  // namespace dt
