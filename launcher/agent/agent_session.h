#pragma once

#include "base/io/loop.h"
#include "base/io/signals.h"
#include "base/io/stream.h"
#include "launcher/agent/diagnostics.h"
#include "launcher/agent/local_host.h"
#include "launcher/agent/local_tasks.h"
#include "launcher/agent/mpi_look.h"
#include "launcher/agent/port_watch.h"
#include "launcher/agent/resource_scanner.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/network/probe.h"
#include "launcher/network/relay_listener.h"
#include "launcher/process/open_files.h"
#include "launcher/process/sweep.h"
#include "launcher/process/task_cgroup.h"
#include "launcher/protocol/lease.h"
#include "launcher/protocol/message.h"

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
  Result<> open(Fd in, Fd out, AgentLocation place);

 private:
  void signalled(int number);
  /// Leaves with all else that this round of the loop brings.
  void send(MessageType type, uint32_t stream, ByteSpan payload);
  void send_outbox();
  /// Whether it is a child that somebody here reaps.
  bool owns(pid_t pid) const;
  size_t receive(ByteSpan bytes);
  Result<> handle(const FrameView& frame);
  Result<> prepare(Prepare wanted);
  Result<> find_programs();
  /// Holds what the launcher asked for; returns those that it may give to tasks.
  Result<std::vector<uint16_t>> hold_all_ports();
  /// One of --port-range that is held, for the time before tasks need it; 0 without the option.
  Result<uint16_t> probe_port();
  Result<LocalTasks::Program> program_of(const std::vector<std::string>& command,
                                         const std::string& path) const;
  Result<> launch(Launch wanted);
  /// Where something of another user listens on a held port by now, tasks must not start.
  Result<> watch_ports();
  void refuse_tasks(const Launch& wanted, const std::string& why);
  void look_for_mpi();
  void probe(Probe wanted);
  void diagnose(const DiagnoseRequest& wanted);
  Result<> resources(const ResourcesWanted& wanted);
  void pause();
  void resume();
  void beat();
  void launcher_lost();
  void end_everything(Duration patience);
  void all_ended(Sweep::Report report);
  void await_output_ends();

  Loop& loop_;
  std::unique_ptr<Stream> link_;
  Bytes outbox_;
  Timer outbox_timer_;
  MessageAssembler assembler_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<ResourceScanner> scanner_;
  Prepare prepared_;
  LocalTasks::Programs programs_;
  std::vector<HeldPort> held_ports_;
  std::unique_ptr<PortWatch> port_watch_;
  std::unique_ptr<ProbeListener> probe_listener_;
  std::unique_ptr<ProbeDialer> probe_calls_;
  Diagnostics diagnostics_{loop_,
                           [this](MessageType type, ByteSpan payload) { send(type, 0, payload); }};
  std::unique_ptr<RelayListener> relay_;  ///< when our tasks cannot dial the rendezvous
  LocalTasks tasks_{loop_, [this](MessageType type, uint32_t stream, ByteSpan payload) {
                      send(type, stream, payload);
                    }};
  std::unique_ptr<TaskCgroup> cgroup_;  ///< of the tasks; null: only the sweep finds what is left
  uint64_t open_files_max_ = raise_open_files_limit();  ///< of our tasks: what it was before
  /// Until the launcher says its own terms. Who waits for many hosts has nothing to say for a
  /// while.
  static constexpr Duration unprepared_patience = seconds(60);
  Lease lease_{prepared_.heartbeat, unprepared_patience, loop_.now()};
  Timer heartbeat_;
  Timer output_timer_;
  std::unique_ptr<MpiLook> mpi_look_;
  int looks_ = 0;  ///< times that output was waited for although no credit lacked
  /// Times in a row that no output came from streams that nobody of ours holds.
  int quiet_looks_ = 0;
  std::optional<Sweep> sweep_;
  std::optional<Sweep::Report> swept_;
  bool lost_ = false;
};

}  // namespace dt
