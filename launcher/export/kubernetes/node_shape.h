#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"

#include <string>
#include <string_view>

namespace dt {

/// The nodes of a job whose pods are equal, and the processes of each.
struct NodeShape {
  int nodes = 1;
  std::string nnodes = "1";       ///< as --nnodes has it: "4", or "2:4" with `nodes` 4
  int processes = 0;              ///< of each node; 0: the node counts them
  std::string per_node = "auto";  ///< as --nproc-per-node has it
  bool operator==(const NodeShape&) const = default;
};

/// True for an option by which `dtrain run` counts or reaches nodes of one command. The text has
/// its own values of them.
bool is_node_option(std::string_view name);

/// Finds the shape by --nnodes and --nproc-per-node, else by the hosts of the job and its -np. With
/// --nnodes alone, a node has one process.
/// Fails with Errc::input where nodes would differ.
Result<NodeShape> node_shape(const ExportJob& job);

/// Returns the job with as many workers as the shape has. Requires a known number.
ExportJob with_workers(ExportJob job, const NodeShape& shape);

}  // namespace dt
