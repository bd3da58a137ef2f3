#include "launcher/agent/agent_keeper.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "launcher/agent/agent_binary.h"
#include "launcher/agent/error_folder.h"
#include "launcher/agent/executable_cache.h"
#include "launcher/process/child.h"
#include "launcher/process/pidfd.h"
#include "launcher/process/sweep.h"
#include "launcher/process/task_cgroup.h"
#include "launcher/protocol/message.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <filesystem>

namespace dt {

namespace {

/// An agent without a launcher needs 5 s at most to end everything. One that runs after 7 s was
/// stopped or is stuck.
constexpr Duration lost_patience = seconds(7);

/// Polls only for the end of the stream: the keeper must not read the agent's input.
pollfd end_of(int fd) {
  return {.fd = fd, .events = POLLRDHUP, .revents = 0};
}

/// Done by the keeper, since a slow file system must not delay the agent.
void prune_own_cache() {
  std::error_code failed;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return;
  prune_executable_cache(executable.string(), std::time(nullptr), [] {
    const auto own = AgentBinary::own();
    return own ? own->sha256() : std::string();
  });
}

/// Returns when the agent has ended. Kills it if it runs too long after the end of the link.
void await_end(const Child& agent) {
  std::array<pollfd, 2> ends = {pollfd{.fd = agent.pidfd(), .events = POLLIN, .revents = 0},
                                end_of(STDIN_FILENO)};
  Time deadline = Time::max();
  for (;;) {
    // poll_ms() waits an hour at most, so a copy that runs for weeks is marked as used every day.
    prune_own_cache();
    const int ready = ::poll(ends.data(), ends.size(), poll_ms(Clock::now(), deadline));
    if (ready > 0 && ends[0].revents != 0) return;
    if (ready > 0 && ends[1].revents != 0) {
      ends[1].fd = -1;
      deadline = Clock::now() + lost_patience;
    }
    if (Clock::now() >= deadline) {
      ::kill(agent.pid(), SIGKILL);
      deadline = Time::max();
    }
  }
}

/// Ends the processes that the agent has left, which are children of the keeper now.
void end_leftovers(pid_t agent) {
  const auto loop = Loop::create();
  if (!loop || !has_children()) return;
  const auto cgroup = TaskCgroup::adopt(agent);
  bool done = false;
  const Sweep sweep(**loop,
                    {.kill_all = cgroup ? [&cgroup] { cgroup->kill(); } : std::function<void()>()},
                    [&done](const Sweep::Report&) { done = true; });
  while (!done && (*loop)->run_once(Time::max()))
    continue;
}

}  // namespace

int keep_agent(const std::function<int()>& serve) {
  // Without pidfds the keeper could not watch its agent, so this process becomes the agent.
  if (!open_pidfd(getpid())) return serve();
  become_subreaper();
  const pid_t keeper = getpid();
  const pid_t pid = ::fork();
  // If no process can be made, this one becomes the agent, without a keeper.
  if (pid < 0) return serve();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // The keeper may have ended before prctl(2): then the signal would never come.
    return getppid() == keeper ? serve() : 1;
  }
  prctl(PR_SET_NAME, "dtrain-keeper");
  std::signal(SIGPIPE, SIG_IGN);  // stderr may have lost its reader
  // No race: a child keeps its pid until we reap it.
  Child agent = Child::adopt(pid, open_pidfd(pid));
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), STDOUT_FILENO);
  const std::string errors = ErrorFolder::path_of(pid);
  await_end(agent);
  ::dup2(null.get(), STDIN_FILENO);
  const auto status = agent.reap();
  if (status && status->good()) return 0;
  if (status && status->signal != 0) {
    const std::string line = format("{}{}\n", agent_ended_word, status->text());
    static_cast<void>(write_all(STDERR_FILENO, as_bytes(line)));
  }
  end_leftovers(pid);
  ErrorFolder::remove(errors);
  return status ? status->shell_status() : 1;
}

}  // namespace dt
