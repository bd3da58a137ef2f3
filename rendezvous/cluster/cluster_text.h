#pragma once

#include "base/result.h"
#include "rendezvous/cluster/cluster_spec.h"

#include <string>
#include <string_view>

namespace dt {

/// "ps|h:p,worker|h:p;h:p": the cluster on one line, as TensorFlow's grpc_tensorflow_server takes
/// it
/// (--cluster_spec). It has no word for holes: every role's indices are dense from 0.
std::string cluster_text(const ClusterSpec& cluster);

/// Reads that line, and checks it. The message names role, index and field; where a shell has cut
/// the line at an unquoted | or ; it says so.
Result<ClusterSpec> parse_cluster_text(std::string_view text);

}  // namespace dt
