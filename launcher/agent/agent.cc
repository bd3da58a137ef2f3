#include "launcher/agent/agent.h"

#include "base/io/log.h"
#include "launcher/agent/agent_session.h"

#include <sys/prctl.h>
#include <unistd.h>

namespace dt {

Result<> run_agent(AgentLocation location) {
  prctl(PR_SET_NAME, "dtrain-agent");
  const auto loop = TRY(Loop::create());
  AgentSession session(*loop);
  // Standard input and output may be one socket, so the session owns a duplicate of each.
  Fd in = TRY(duplicate(STDIN_FILENO));
  Fd out = TRY(duplicate(STDOUT_FILENO));
  TRY(session.open(std::move(in), std::move(out), location));
  return loop->run();
}

int serve_as_agent(AgentLocation location) {
  const auto served = run_agent(location);
  if (!served) Log(Log::Level::normal, write_to_stderr).error("{}", served.error().message);
  return served ? 0 : 1;
}

}  // namespace dt
