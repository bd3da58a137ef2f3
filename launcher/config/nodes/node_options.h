#pragma once

#include "base/crypto.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// A job of nodes: the same command starts on each of them, as under torchrun. Node 0 becomes the
/// launcher, and the others connect to it by themselves.
struct NodeOptions {
  int least = 0;            ///< MIN of --nnodes MIN:MAX
  int count = 0;            ///< MAX, or N of --nnodes N; from 2
  std::optional<int> rank;  ///< of this node; none: its addresses decide (c10d)
  /// SLURM_NODEID of a node without rank: the others follow node 0 in the order of these.
  std::optional<int> order;
  std::string rank_origin;  ///< "--node-rank", "PET_NODE_RANK", "SLURM_NODEID"; empty without rank
  std::string master;       ///< host name or address of node 0
  uint16_t port = 0;        ///< at which node 0 awaits the others
  std::string id;           ///< of --rdzv-id, the same on all nodes; empty: none
  std::string processes;    ///< of --nproc-per-node, as written; empty: not given
  std::optional<Token> token;  ///< that proves node to node; none: --no-token
  bool operator==(const NodeOptions&) const = default;
};

}  // namespace dt
