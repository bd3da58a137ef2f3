#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "launcher/config/nodes/node_options.h"
#include "launcher/console/runtime.h"
#include "rendezvous/secure/dial.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

/// The name that all nodes of a job have for it in their handshakes.
std::string name_of_nodes(const NodeOptions& nodes);
/// The token of their handshakes. Without one of the user's, any process may know it.
Token token_of_nodes(const NodeOptions& nodes);

/// How a node reaches node 0.
struct NodeDial {
  Duration patience = seconds(30);
  Duration dead_after = seconds(5);
  /// Looks up the addresses of a name; may block.
  std::function<Result<std::vector<std::string>>(const std::string& name)> look_up;
};

/// Connects this node to node 0, and tries again until it is there: pods start in any order, and
/// their names are published late. Prints a line after 5 s, with the reason of the last try. The
/// patience begins anew while node 0 says that the job runs without this node.
///
/// Fails with Errc::input when node 0 refuses this node, or does not know its token. Fails with
/// Errc::unreachable after the patience, and with Errc::interrupted after a stop signal.
Result<Dialed> dial_node_0(Runtime& runtime, const NodeOptions& nodes, const NodeDial& how);

}  // namespace dt
