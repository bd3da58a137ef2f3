#pragma once

#include <functional>

namespace dt {

/// Runs `serve` in a child, which is the agent, and stays behind to look after it; returns what
/// this process should exit with. An agent can be killed, stopped for ever or stuck, and its tasks'
/// children would then outlive the job: to this process, a subreaper above the agent, all of them
/// fall. It lets go of the agent's link when the agent ends, so that the launcher knows at once.
///
///   agent ends by itself ──▶ its status
///   agent is killed ──▶ TERM to all that is left, 2 s, KILL
///   the launcher is gone, and the agent still there after 7 s ──▶ kill it, and the same
///   this process ends ──▶ the agent gets TERM and ends everything
int keep_agent(const std::function<int()>& serve);

}  // namespace dt
