#include "comm/peer/spin_poll.h"

#include "base/io/cores.h"

#include <algorithm>

namespace dt {

SpinPoll::SpinPoll(const TaskTable& job, int agent)
    : SpinPoll(static_cast<size_t>(std::ranges::count(job.tasks, agent, &TaskEntry::agent)),
               static_cast<size_t>(usable_cpus())) {
}

int SpinPoll::wait(std::span<pollfd> fds, std::span<MessageConnection* const> connections,
                   Time deadline) const {
  const Time asleep_from = stays_awake_ ? std::min(deadline, awake_until_) : Time::min();
  while (Clock::now() < asleep_from) {
    const bool changed = std::ranges::any_of(connections, &MessageConnection::changed);
    const int ready = poll(fds.data(), fds.size(), 0);
    if (changed || ready != 0) return ready;
  }
  const int timeout_ms = poll_ms(Clock::now(), deadline);
  if (timeout_ms == 0) return poll(fds.data(), fds.size(), 0);
  const bool sleeps = std::ranges::all_of(connections, &MessageConnection::fall_asleep);
  const int ready = poll(fds.data(), fds.size(), sleeps ? timeout_ms : 0);
  for (MessageConnection* const connection : connections)
    connection->wake_up();
  return ready;
}

}  // namespace dt
