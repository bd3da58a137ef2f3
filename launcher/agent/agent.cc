#include "launcher/agent/agent.h"

#include "base/environment.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/text.h"
#include "launcher/agent/agent_keeper.h"
#include "launcher/agent/agent_session.h"
#include "launcher/network/launcher_dial.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace dt {

namespace {

int report(const Error& error) {
  Log(Log::Level::normal, write_to_stderr).error("{}", error.message);
  return 1;
}

/// Returns the whole standard input, which ends.
Result<std::string> read_input(size_t bytes_max) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read the standard input");
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(n));
    if (text.size() > bytes_max)
      return fail(Errc::input, format("the standard input has more than {} bytes", bytes_max));
  }
}

Result<Dialed> dial_by_input(const std::string& host_variable) {
  const Environment environment = parse_environment(own_environment());
  const auto host = environment.find(host_variable);
  if (host == environment.end()) {
    return fail(Errc::input, format("{} is not set; dtrain agent dial is for a scheduler's program "
                                    "that dtrain starts",
                                    printable(host_variable)));
  }
  const std::string text = TRY(read_input(DialOrder::bytes_max));
  const DialOrder order = TRY(DialOrder::parse(text));
  return dial_launcher(order, host->second);
}

}  // namespace

Result<> run_agent(AgentPlace place, std::optional<Session> session) {
  prctl(PR_SET_NAME, "dtrain-agent");
  const auto loop = TRY(Loop::create());
  AgentSession agent(*loop);
  // Standard input and output may be one socket, so the session owns a duplicate of each.
  Fd in = TRY(duplicate(STDIN_FILENO));
  Fd out;
  if (!session) out = TRY(duplicate(STDOUT_FILENO));
  TRY(agent.open(std::move(in), std::move(out), place, std::move(session)));
  return loop->run();
}

int serve_as_agent(AgentPlace place, std::optional<Session> session) {
  const auto served = run_agent(place, std::move(session));
  return served ? 0 : report(served.error());
}

sigset_t scheduler_signal_set() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : AgentSession::scheduler_signals)
    sigaddset(&signals, number);
  return signals;
}

int serve_as_dialed_agent(const std::string& host_variable) {
  // Signals to the process group of the scheduler's program are not for the agent.
  ::setsid();
  // The keeper never receives them, and the agent does when it is ready.
  const sigset_t blocked = scheduler_signal_set();
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  auto dialed = dial_by_input(host_variable);
  if (!dialed) return report(dialed.error());
  // The keeper watches the standard input for the end of the link.
  if (::dup2(dialed->connection.get(), STDIN_FILENO) < 0)
    return report(fail_errno("cannot use the connection to dtrain").value());
  dialed->connection.reset();
  return keep_agent([&dialed] {
    return serve_as_agent({AgentLocation::other_host, true}, std::move(dialed->session));
  });
}

}  // namespace dt
