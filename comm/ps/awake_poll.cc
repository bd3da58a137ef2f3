#include "comm/ps/awake_poll.h"

#include <unistd.h>

#include <algorithm>

namespace dt {

namespace {

size_t cores_of_host() {
  return static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

AwakePoll::AwakePoll(const TaskTable& job, int agent)
    : AwakePoll(static_cast<size_t>(std::ranges::count(job.tasks, agent, &TaskEntry::agent)),
                cores_of_host()) {
}

int AwakePoll::wait(std::span<pollfd> fds, Time deadline) const {
  const Time begin = Clock::now();
  const Time asleep_from = std::min(deadline, begin + awake_for);
  for (Time now = begin; stays_awake_ && now < asleep_from; now = Clock::now()) {
    const int ready = poll(fds.data(), fds.size(), 0);
    if (ready != 0) return ready;
  }
  return poll(fds.data(), fds.size(), poll_ms(Clock::now(), deadline));
}

}  // namespace dt
