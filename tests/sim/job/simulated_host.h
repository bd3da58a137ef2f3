#pragma once

#include "launcher/protocol/lease.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/state_messages.h"
#include "tests/sim/job/message_order.h"
#include "tests/sim/job/simulated_dial.h"
#include "tests/sim/job/simulated_sshd.h"
#include "tests/sim/job/simulated_task.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// How a host behaves.
struct HostFate {
  std::vector<Login> logins;        ///< one for each try; the last one for all further tries
  Dialing dialing = Dialing::well;  ///< in a job whose agents dial
  Duration login = milliseconds(30);
  Cable::Nature nature;
  std::string prepare_failure;
  int prepare_status = 0;
  std::vector<TaskFate> tasks;  ///< the first ones, as many as are launched
};

/// A message that a correct agent does not send.
enum class Slip : uint8_t {
  garbage,
  repeats_started,
  repeats_exited,
  names_strange_task,
  finishes_early,
  late_output,
};
inline constexpr int slips = 6;
/// True when the launcher must treat the agent as lost.
bool is_fatal(Slip slip);

/// A machine with its sshd, its agent and its tasks, far from the launcher. The agent's side of the
/// protocol is modelled on launcher/agent/agent_session.h, with real frames and a real lease;
/// processes are SimulatedTasks.
class SimulatedHost {
 public:
  struct Running {
    TaskId id;
    std::unique_ptr<SimulatedTask> task;
    uint32_t credit = stream_window_bytes;
    size_t unsent = 0;
    bool exited = false;
    bool ran = false;  ///< its last attempt has started, and ended
    bool output_ended = false;
    bool stopped = false;  ///< by its scheduler
    uint32_t attempt = first_attempt;
    uint32_t generation = 1;
    size_t written_before = 0;  ///< by earlier attempts and generations
    size_t written() const { return written_before + task->written(); }
  };
  /// Called for the events of this host.
  struct Handlers {
    std::function<void(const std::string& event)> on_event;
    std::function<void(const std::string& what)> on_broken_promise;
    std::function<void(Fd)> dial_rendezvous;
    std::function<void(Fd)> dial_launcher;
    std::function<void()> on_hello;
    std::function<void()> on_agent_end;
    /// `arrives`: when the launcher's machine receives the message; none: perhaps never.
    std::function<void(const Running&, const ExitStatus&, std::optional<Time> arrives)> on_exit;
    std::function<void()> on_started;
    std::function<void()> on_barrier;
    std::function<void(const TaskId&)> on_call;
    std::function<std::vector<int32_t>()> awaited;
    std::function<void(const Running& listener, const Notice&)> on_notice;
  };
  SimulatedHost(Site& site, HostFate fate, Handlers handlers);
  SimulatedHost(const SimulatedHost&) = delete;
  SimulatedHost& operator=(const SimulatedHost&) = delete;

  /// The next try to log in.
  Result<SpawnedProcess> log_in(const std::string& name);
  /// A scheduler's program starts the agent, which dials.
  void start_to_dial(const DialOrder& order, int host);

  void kill_agent();
  /// A scheduler sends SIGTERM to the agent and its tasks.
  void scheduler_stop();
  /// Cuts the network between this host and the launcher.
  void cut();
  void mend();
  void slow_down(Duration latency);
  void slip(Slip slip);

  const std::vector<Running>& tasks() const { return tasks_; }
  bool agent_alive() const { return agent_ == Agent::alive; }
  bool has_had_agent() const { return agent_ != Agent::none; }
  /// The agent is alive, its lease has not expired, and the launcher has not given it up.
  bool agent_serves() const { return agent_alive() && !lost_ && !given_up(); }
  bool is_cut() const { return cut_; }
  /// The launcher has closed its link to the agent.
  bool given_up() const { return cable() != nullptr && cable()->near_closed(); }
  bool paused() const { return order_.paused(); }

 private:
  enum class Agent : uint8_t { none, alive, ended };
  /// The launch of a generation, and the end of all its tasks.
  enum class Stage : uint8_t { idle, launched, finished };
  void start_agent();
  void end_agent();
  /// The connection to the launcher; null before the first.
  Cable* cable() const { return dial_.cable() != nullptr ? dial_.cable() : sshd_.cable(); }
  void transmit(ByteSpan bytes);
  void receive(ByteSpan bytes);
  void read_frames();
  void handle(const FrameView& message);
  void prepare(Prepare wanted);
  void launch(const Launch& wanted);
  void report_mpi();
  void restart(const Restart& wanted);
  void start_task(size_t index);
  void report_states(const StatesWanted& wanted);
  void receive_signal(const SignalAll& wanted);
  void signal_all(int number);
  void send_output(size_t index);
  std::optional<Time> arrival() const;
  void exited(size_t index, ExitStatus status);
  void beat();
  void launcher_lost();
  void end_everything(const Finish& how);
  void finish_if_ended();
  void send(MessageType type, uint32_t stream, ByteSpan payload);
  void note(const std::string& event) { handlers_.on_event(event); }

  Site& site_;
  HostFate fate_;
  Handlers handlers_;
  SimulatedSshd sshd_;
  SimulatedDial dial_;
  Bytes in_;
  MessageAssembler assembler_;
  MessageOrder order_;
  Agent agent_ = Agent::none;
  bool cut_ = false;
  std::optional<Prepare> prepared_;
  Lease lease_;
  Timer heartbeat_;
  Timer kill_timer_;
  Timer mpi_timer_;
  std::vector<Running> tasks_;
  std::optional<Finish> ending_;  ///< the order by which the tasks end
  bool dumped_ = false;           ///< it was asked for the stacks
  Stage stage_ = Stage::idle;
  bool lost_ = false;
};

}  // namespace dt
