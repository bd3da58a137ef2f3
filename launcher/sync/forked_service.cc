#include "launcher/sync/forked_service.h"

#include "launcher/process/forked_query.h"
#include "launcher/process/pidfd.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace dt {

Result<ForkedService> ForkedService::start(const char* name, std::vector<Fd> its,
                                           const Serve& serve) {
  const pid_t parent = getpid();
  std::vector<int> kept;
  for (const Fd& descriptor : its)
    kept.push_back(descriptor.get());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) {
    // Away from the terminal: no program that it starts can ask for a password there.
    setsid();
    enter_fork(parent, kept);
    prctl(PR_SET_NAME, name);
    // A write to a peer that is gone fails with EPIPE.
    ::signal(SIGPIPE, SIG_IGN);
    std::vector<Fd> moved;
    for (size_t at = 0; at < kept.size(); ++at)
      moved.emplace_back(first_kept_descriptor + static_cast<int>(at));
    serve(std::move(moved));
    _exit(0);
  }
  its.clear();
  // No race: a child keeps its pid until its status is collected.
  return ForkedService(Child::adopt(pid, open_pidfd(pid)));
}

void ForkedService::wait(Duration patience) {
  const auto limit = std::chrono::ceil<milliseconds>(patience).count();
  pollfd ended = {.fd = fork_.pidfd(), .events = POLLIN, .revents = 0};
  if (!is_over_) ::poll(&ended, 1, static_cast<int>(limit));
}

ForkedService::~ForkedService() {
  if (is_over_) return;
  [[maybe_unused]] const auto status = fork_.kill();
}

}  // namespace dt
