#include "launcher/connect/spawned_process.h"

#include "base/format.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/local_host.h"
#include "launcher/process/executable.h"
#include "launcher/process/open_files.h"
#include "launcher/process/pidfd.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace dt {

namespace {

/// Serves as the agent, in the forked process, with `link` as standard input and output. Closes the
/// launcher's descriptors, and leaves by _exit(2): no destructor of the launcher may run here.
[[noreturn]] void be_agent(int link, pid_t launcher, const LocalAgent& options) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The launcher may have ended before prctl(2): then no signal would ever come.
  const bool ours = getppid() == launcher && setsid() > 0 && dup2(link, STDIN_FILENO) >= 0 &&
                    dup2(link, STDOUT_FILENO) >= 0;
  if (!ours) _exit(1);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  set_open_files_limit(options.open_files_max);
  // The launcher blocks the scheduler's signals, so none of them finds the agent unprepared.
  sigset_t mask;
  sigemptyset(&mask);
  if (options.scheduled) mask = scheduler_signal_set();
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  const auto location =
      options.seen_from_afar ? AgentLocation::other_host : AgentLocation::launchers_host;
  _exit(serve_as_agent({location, options.scheduled}));
}

Result<std::string> find_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): before any thread
  return find_executable(program, path == nullptr ? "/usr/bin:/bin" : path, ".");
}

Result<SpawnedProcess> start_program(const std::vector<std::string>& command,
                                     std::vector<std::string> environment, int death_signal) {
  const std::string program = TRY(find_in_path(command.front()));
  SocketPair link = TRY(make_socketpair());
  Pipe messages = TRY(make_pipe());
  Child client = TRY(Child::start({.path = program,
                                   .arguments = command,
                                   .environment = std::move(environment),
                                   .cwd = {},
                                   .input = link.theirs.get(),
                                   .output = link.theirs.get(),
                                   .error = messages.write.get(),
                                   .death_signal = death_signal,
                                   .new_session = true}));
  TRY(set_nonblocking(link.ours.get()));
  TRY(set_nonblocking(messages.read.get()));
  return SpawnedProcess{std::move(link.ours), Fd(), std::move(client), std::move(messages.read)};
}

}  // namespace

Result<SpawnedProcess> start_local_agent(const LocalAgent& options) {
  SocketPair link = TRY(make_socketpair());
  const pid_t launcher = getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start the agent of this machine");
  if (pid == 0) be_agent(link.theirs.get(), launcher, options);
  // No race: a child keeps its pid until we reap it.
  Fd pidfd = open_pidfd(pid);
  if (!pidfd) {
    return fail(Errc::os, format("cannot watch the agent of this machine: {}; it takes the system "
                                 "call pidfd_open, which Linux has from 5.3 on and containers may "
                                 "refuse",
                                 errno_text(errno)));
  }
  TRY(set_nonblocking(link.ours.get()));
  return SpawnedProcess{std::move(link.ours), Fd(), Child::adopt(pid, std::move(pidfd)), Fd()};
}

bool has_client(const std::string& program) {
  return find_in_path(program).has_value();
}

Result<SpawnedProcess> start_client(const std::vector<std::string>& command) {
  return start_program(command, own_environment(), SIGTERM);
}

Result<SpawnedProcess> start_scheduler_program(const std::vector<std::string>& command,
                                               const Environment& environment) {
  return start_program(command, environment_entries(environment), 0);
}

}  // namespace dt
