#pragma once

#include "base/result.h"
#include "launcher/agent/local_host.h"

namespace dt {

/// `dtrain agent`: runs the tasks of one host for a launcher that speaks frames on our stdin and
/// stdout (message.h). Returns when all that it started has ended: because the launcher said
/// finish, or because the launcher is lost (end of stdin, or no sign of life for the dead-after
/// time).
///
///   hello ─▶ prepare ◀─ … prepared ─▶ launch ◀─ … started, output, exited ─▶ … finish ◀─ …
///   finished ─▶
Result<> run_agent(AgentLocation place);

/// The same as all that a process has to do; returns what it should exit with. A failure is told on
/// stderr.
int serve_as_agent(AgentLocation place);

}  // namespace dt
