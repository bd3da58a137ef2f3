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

/// The agent's side of its link to the launcher, and everything that it keeps for the job.
class AgentSession {
 public:
  explicit AgentSession(Loop& loop) : loop_(loop) {}
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  /// Takes the two descriptors and sends hello.
  Result<> open(Fd in, Fd out, AgentLocation place);

 private:
  void signalled(int number);
  /// Queues a message. All messages of one round of the loop are written together.
  void send(MessageType type, uint32_t stream, ByteSpan payload);
  void send_outbox();
  /// True for a child that a member of the session reaps itself.
  bool owns(pid_t pid) const;
  size_t receive(ByteSpan bytes);
  Result<> handle(const FrameView& frame);
  /// Handles a message about one stream of a task or of the relay.
  Result<> handle_stream_message(MessageType type, const FrameView& frame);
  Result<> prepare(Prepare wanted);
  Result<> find_programs();
  /// Holds the ports that the launcher asked for. Returns those for the launcher to distribute.
  Result<std::vector<uint16_t>> hold_all_ports();
  /// Returns a held port of --port-range for the probes, before tasks need it; 0 without the
  /// option.
  Result<uint16_t> probe_port();
  Result<LocalTasks::Program> program_of(const std::vector<std::string>& command,
                                         const std::string& path) const;
  Result<> launch(Launch wanted);
  /// Watches the held ports. Fails with Errc::refused if another user listens on one: then tasks
  /// must not start.
  Result<> watch_ports();
  void refuse_tasks(const Launch& wanted, const std::string& why);
  void check_for_mpi();
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
  std::unique_ptr<RelayListener>
      relay_;  ///< set when tasks of this host cannot dial the rendezvous
  LocalTasks tasks_{loop_, [this](MessageType type, uint32_t stream, ByteSpan payload) {
                      send(type, stream, payload);
                    }};
  std::unique_ptr<TaskCgroup>
      cgroup_;  ///< of the tasks; null: only the sweep finds their processes
  uint64_t open_files_max_ =
      raise_open_files_limit();  ///< of tasks: the soft limit before we raised ours
  /// The lease until the launcher sends its terms. A launcher that waits for many hosts is silent
  /// for a while.
  static constexpr Duration unprepared_patience = seconds(60);
  Lease lease_{prepared_.heartbeat, unprepared_patience, loop_.now()};
  Timer heartbeat_;
  Timer output_timer_;
  std::unique_ptr<MpiLook> mpi_look_;
  int output_checks_ = 0;  ///< rounds of waiting for output that lacked no credit
  /// Successive rounds without output, when all our processes have ended.
  int quiet_checks_ = 0;
  std::optional<Sweep> sweep_;
  std::optional<Sweep::Report> swept_;
  bool lost_ = false;
};

}  // namespace dt
