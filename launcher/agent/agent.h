#pragma once

#include "base/result.h"
#include "launcher/agent/local_host.h"

namespace dt {

/// `dtrain agent`: runs the tasks of one host for a launcher, which exchanges frames with it
/// through stdin and stdout (message.h). Returns when all processes that it started have ended:
/// after the launcher's finish, or after the launcher was lost. A launcher is lost at the end of
/// stdin, and when nothing came from it for the dead-after time.
///
///   hello ─▶ prepare ◀─ … prepared ─▶ launch ◀─ … started, output, exited ─▶ … finish ◀─ …
///   finished ─▶
Result<> run_agent(AgentLocation location);

/// Calls run_agent() and writes a failure to stderr. Returns the exit status for the process.
int serve_as_agent(AgentLocation location);

}  // namespace dt
