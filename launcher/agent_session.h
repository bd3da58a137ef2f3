#pragma once

#include "base/loop.h"
#include "base/signals.h"
#include "base/stream.h"
#include "launcher/environment.h"
#include "launcher/lease.h"
#include "launcher/message.h"
#include "launcher/oom.h"
#include "launcher/open_files.h"
#include "launcher/port_range.h"
#include "launcher/sweep.h"
#include "launcher/task_cgroup.h"
#include "launcher/task_process.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The agent's side of its one link, and everything that it keeps for the job.
class AgentSession {
 public:
  explicit AgentSession(Loop& loop) : loop_(loop) {}
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  /// Takes over the two descriptors and says hello.
  Result<> open(Fd in, Fd out);

 private:
  struct LocalTask {
    TaskId id;
    std::unique_ptr<TaskProcess> process;  ///< null when it could not be started
  };

  void signalled(int number);
  /// Leaves with all else that this round of the loop brings.
  void send(MessageType type, uint32_t stream, ByteSpan payload);
  void send_outbox();
  size_t receive(ByteSpan bytes);
  Result<> handle(const FrameView& frame);
  Result<> prepare(Prepare wanted);
  Result<> launch(Launch wanted);
  void start_tasks(size_t count_max);
  void start_task(uint32_t local_index);
  void task_executed(uint32_t local_index, const Result<>& result);
  void start_failed(uint32_t local_index, const Error& error);
  void look_at_execs();
  TaskProcess::Handlers handlers_for(uint32_t local_index);
  void task_exited(uint32_t local_index, ExitStatus status);
  void pause();
  void resume();
  void beat();
  void launcher_lost();
  void signal_tasks(int number);
  TaskProcess* process_of(const FrameView& frame) const;
  void end_everything();
  void all_ended(Sweep::Report report);
  void await_output_ends();
  bool ours(pid_t pid) const;

  Loop& loop_;
  std::unique_ptr<Stream> link_;
  Bytes outbox_;
  Timer outbox_timer_;
  MessageAssembler assembler_;
  std::unique_ptr<Signals> signals_;
  Prepare prepared_;
  std::string executable_;
  std::vector<HeldPort> held_ports_;
  std::vector<LocalTask> tasks_;
  std::unique_ptr<TaskCgroup> cgroup_;  ///< of the tasks; null: only the sweep finds what is left
  Launch launch_;
  HostFacts host_;
  size_t next_start_ = 0;  ///< the first of launch_.tasks that has not been started yet
  Timer start_timer_;
  /// In every task between its clone and its exec there is a copy of the writing end, close-on-exec
  /// like all that is ours: the reading end tells when the last one runs.
  Pipe exec_pipe_;
  Watch exec_watch_;
  OomCounter oom_;
  uint64_t open_files_max_ = raise_open_files_limit();  ///< of our tasks: what it was before
  Lease lease_{Prepare().dead_after, Clock::now()};
  Timer heartbeat_;
  Timer output_timer_;
  int looks_ = 0;  ///< times that output was waited for although no credit lacked
  int quiet_looks_ =
      0;  ///< times in a row that no output came from streams that nobody of ours holds
  std::optional<Sweep> sweep_;
  std::optional<Sweep::Report> swept_;
  bool lost_ = false;
};

}  // namespace dt
