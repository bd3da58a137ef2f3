#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/connect/dialed_hosts.h"
#include "launcher/console/runtime.h"
#include "launcher/protocol/node_messages.h"
#include "launcher/report/outcome.h"

#include <optional>

namespace dt {

/// Returns the introduction of this node.
NodeIntro own_intro(const RunConfig& config);

/// How node 0 awaits the other nodes; none where the job is not one of nodes.
std::optional<DialedHosts::Options> dialed_by_nodes(const RunConfig& config);

/// Tells all nodes how the job has ended, or why it could not start. `nodes` is null where the job
/// has none.
void dismiss_nodes(DialedHosts* nodes, const Outcome& outcome);

/// Finds out whether this is node 0: by its rank, else by its addresses or its host name. One that
/// has no rank, and whose port another process of this machine holds, is an ordinary node. Node 0
/// gets the name of its host, and prints what it waits for. Requires config.nodes.
bool begin_as_node_0(RunConfig& config, Log& log);

/// Takes part in the job as an ordinary node. Returns the status for this process, which is that of
/// the job, and prints an error. Requires config.nodes.
int run_node(const RunConfig& config, const Environment& environment, Runtime& runtime);

}  // namespace dt
