#include "launcher/sync/group_guard.h"

#include "launcher/process/pidfd.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace dt {

namespace {

/// Runs in the fork, whose signals are blocked.
[[noreturn]] void guard_group(pid_t group, pid_t parent) {
  // Away from the terminal, and from the signals for the group of this process.
  setsid();
  prctl(PR_SET_NAME, "dtrain-guard");
  // A pipe that stays open here would not end for its reader.
  close_range(0, ~0U, 0);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  // If the parent ended before prctl, no death signal would ever come.
  if (getppid() == parent) {
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGUSR1);
    while (sigwaitinfo(&end, nullptr) != SIGUSR1)
      continue;
  }
  ::kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

Result<GroupGuard> GroupGuard::start(pid_t group) {
  const pid_t parent = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) guard_group(group, parent);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail_errno("cannot start a process");
  // No race: a child keeps its pid until its status is collected.
  return GroupGuard(Child::adopt(pid, open_pidfd(pid)));
}

GroupGuard::~GroupGuard() {
  if (is_over_) return;
  [[maybe_unused]] const auto status = fork_.kill();
}

}  // namespace dt
