#include "launcher/agent/task_run.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dt {

Result<> TaskRun::launch(Launch wanted, LocalTasks::Programs programs,
                         std::vector<uint16_t> ports) {
  watch_ports(std::move(ports));
  if (const auto taken = port_watch_->find_taken()) {
    refuse(wanted, taken->text());
    return {};
  }
  if (const auto opened = open_relay(wanted); !opened) {
    refuse(wanted, "cannot relay the rendezvous: " + opened.error().message);
    return {};
  }
  if (const auto limited = limit_memory(wanted); !limited) {
    refuse(wanted, "cannot limit the memory of tasks: " + limited.error().message);
    return {};
  }
  programs.cgroup = cgroup_ ? cgroup_->fd() : -1;
  if (cgroup_) programs.task_cgroups = cgroup_->part_fds();
  check_for_mpi();
  return tasks_.launch(std::move(wanted), std::move(programs));
}

void TaskRun::watch_ports(std::vector<uint16_t> ports) {
  const auto report = [this](const PortTaken& taken) {
    handlers_.send(MessageType::port_taken, 0, encode(taken));
  };
  port_watch_ =
      std::make_unique<PortWatch>(loop_, PortWatch::Terms{.ports = std::move(ports)}, report);
}

/// If tasks cannot dial the rendezvous, they dial this agent instead.
Result<> TaskRun::open_relay(Launch& wanted) {
  if (!wanted.relay) return {};
  relay_ = TRY(RelayListener::open(loop_, handlers_.send, relayed_max(wanted.tasks.size())));
  wanted.common["DTRAIN_RENDEZVOUS"] = relay_->address().text();
  return {};
}

/// If a task has a limit, each task gets a cgroup of its own.
Result<> TaskRun::limit_memory(const Launch& wanted) {
  std::vector<uint64_t> limits(wanted.tasks.size());
  std::ranges::transform(wanted.tasks, limits.begin(), &TaskLaunch::memory_max);
  if (std::ranges::all_of(limits, [](uint64_t limit) { return limit == 0; })) return {};
  if (!cgroup_) return fail(Errc::os, "there is no cgroup for them");
  return cgroup_->limit_memory(limits);
}

void TaskRun::refuse(const Launch& wanted, const std::string& why) {
  for (const TaskLaunch& task : wanted.tasks)
    handlers_.send(MessageType::start_failed, 0, encode(StartFailed{task.id, 3, why}));
}

void TaskRun::check_for_mpi() {
  const auto report = [this](uint32_t alone) {
    handlers_.send(MessageType::mpi_alone, 0, encode(MpiAlone{alone}));
  };
  mpi_look_ = std::make_unique<MpiLook>(loop_, [this] { return tasks_.processes(); }, report);
}

Result<> TaskRun::receive_relayed(MessageType type, uint32_t stream, ByteSpan payload) {
  if (!relay_) return fail(Errc::protocol, "a message for a relay that there is not");
  return relay_->receive(type, stream, payload);
}

void TaskRun::end(Duration patience) {
  if (sweep_) return sweep_->hurry(patience);
  port_watch_.reset();
  tasks_.signal(SIGTERM);
  std::vector<pid_t> spared = handlers_.spared();
  if (mpi_look_) {
    const std::vector<pid_t> looking = mpi_look_->processes();
    spared.insert(spared.end(), looking.begin(), looking.end());
  }
  mpi_look_.reset();
  sweep_.emplace(
      loop_,
      Sweep::Options{.patience = patience,
                     .ours = [this](pid_t pid) { return owns(pid); },
                     .spared = spared,
                     .kill_all = cgroup_ ? [this] { cgroup_->kill(); } : std::function<void()>()},
      [this](Sweep::Report report) { all_ended(std::move(report)); });
}

void TaskRun::drop_output() {
  output_wanted_ = false;
  tasks_.stop_starting();
  tasks_.discard_output();
}

void TaskRun::all_ended(Sweep::Report report) {
  swept_ = std::move(report);
  // These processes escaped the sweep, since they are no descendants of the agent.
  if (cgroup_ && cgroup_->populated()) cgroup_->kill();
  await_output_ends();
}

void TaskRun::await_output_ends() {
  constexpr int quiet_checks_max = 10;
  constexpr int output_checks_max = 250;
  constexpr int cgroup_checks_max = 50;
  const bool blocked = tasks_.output_waits_for_credit();
  quiet_checks_ = blocked || tasks_.take_had_output() ? 0 : quiet_checks_ + 1;
  output_checks_ += blocked ? 0 : 1;
  // A process that is no descendant may hold a pipe open without limit. All that was written into
  // the pipe has been read.
  const bool read = !tasks_.output_open() || quiet_checks_ > quiet_checks_max ||
                    output_checks_ > output_checks_max;
  // The kernel may take a moment to end the processes of the cgroup.
  const bool emptied = !cgroup_ || !cgroup_->populated() || output_checks_ > cgroup_checks_max;
  if ((read || !output_wanted_) && emptied) {
    handlers_.on_ended(Finished{.strays_ended = swept_->ended,
                                .contained_by = cgroup_ ? "cgroup" : "sweep",
                                .unkillable = swept_->unkillable});
    return;
  }
  output_timer_ = loop_.after(milliseconds(20), [this] { await_output_ends(); });
}

}  // namespace dt
