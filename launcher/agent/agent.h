#pragma once

#include "base/result.h"
#include "launcher/agent/local_host.h"
#include "rendezvous/secure/handshake.h"

#include <csignal>
#include <optional>
#include <string>

namespace dt {

/// `dtrain agent`: runs the tasks of one host for a launcher, which exchanges frames with it
/// through stdin and stdout (message.h). Returns when all processes that it started have ended:
/// after the launcher's finish, or after the launcher was lost. A launcher is lost at the end of
/// stdin, and when nothing came from it for the dead-after time.
///
///   hello ─▶ prepare ◀─ … prepared ─▶ launch ◀─ … started, output, exited ─▶ … finish ◀─ …
///   finished ─▶
/// With a session, stdin is a connection for both directions, whose bytes are its records.
Result<> run_agent(AgentPlace place, std::optional<Session> session = {});

/// Calls run_agent() and writes a failure to stderr. Returns the exit status for the process.
int serve_as_agent(AgentPlace place, std::optional<Session> session = {});

/// Returns the signals that a scheduler sends to an agent and its tasks (AgentPlace::scheduled).
sigset_t scheduler_signal_set();

/// `dtrain agent dial VARIABLE`: an agent that a scheduler has started. Its input is a DialOrder,
/// and the environment variable has the name of its host there. It connects to its launcher, and
/// serves it as keep_agent() and run_agent() do. The end of the scheduler's program does not end
/// it. Writes a failure to stderr; returns the exit status for the process.
int serve_as_dialed_agent(const std::string& host_variable);

}  // namespace dt
