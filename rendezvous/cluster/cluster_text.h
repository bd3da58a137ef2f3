#pragma once

#include "base/result.h"
#include "rendezvous/cluster/cluster_spec.h"

#include <string>
#include <string_view>

namespace dt {

/// Returns the cluster on one line, "ps|h:p,worker|h:p;h:p", in the syntax of --cluster_spec of
/// TensorFlow's grpc_tensorflow_server. The syntax has no holes: every role's indices are dense
/// from 0.
std::string cluster_text(const ClusterSpec& cluster);

/// Reads that line, and checks it. Fails with Errc::input, which names role, index and field. If a
/// shell has cut the line at an unquoted | or ; the message explains that.
Result<ClusterSpec> parse_cluster_text(std::string_view text);

}  // namespace dt
