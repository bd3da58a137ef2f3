#pragma once

#include <functional>

namespace dt {

/// Runs `serve` in a child, the agent, and watches it. Returns the exit status for this process.
///
/// An agent can be killed, stopped or stuck, and its tasks' children would then outlive the job.
/// This process is a subreaper above the agent, so the kernel reparents them to it. It closes the
/// agent's link when the agent ends, so that the launcher sees the end at once.
///
///   agent exits ──▶ its status
///   agent is killed ──▶ TERM to all processes that are left, 2 s, KILL
///   the link has ended and the agent runs 7 s later ──▶ kill the agent, and the same
///   this process ends ──▶ the agent gets TERM and ends everything
int keep_agent(const std::function<int()>& serve);

}  // namespace dt
