#pragma once

#include "launcher/connect/spawned_process.h"
#include "launcher/protocol/lease.h"
#include "launcher/protocol/message.h"
#include "tests/sim/job/simulated_task.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What comes of one try to log in to a host.
enum class Login : uint8_t {
  agent,         ///< the agent is there and speaks
  push,          ///< the agent has to be sent first
  noise,         ///< rc files talk before it does
  refused,       ///< sshd does not listen yet
  reset,         ///< MaxStartups
  denied,        ///< no key that it likes
  silent,        ///< no answer, ever
  closed,        ///< without a word
  architecture,  ///< of another kind
  babble,        ///< never an agent
};

/// How large the executable is that a host without dtrain is sent.
inline constexpr size_t pushed_bytes = 100'000;

/// Whether an agent speaks in the end.
bool ends_well(Login login);

/// How a host behaves.
struct HostFate {
  std::vector<Login> logins;  ///< one a try; the last one stands for all further
  Duration login = milliseconds(30);
  Cable::Nature nature;
  std::string prepare_failure;
  int prepare_status = 0;
  std::vector<TaskFate> tasks;  ///< of these as many as are launched
};

/// A message that an agent of ours would not send.
enum class Slip : uint8_t {
  garbage,
  repeats_started,
  repeats_exited,
  names_strange_task,
  finishes_early,
  late_output,
};
inline constexpr int slips = 6;
/// Whether the launcher must take it for the agent's end.
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
    bool output_ended = false;
  };
  /// What the rest of the world is told.
  struct Handlers {
    std::function<void(const std::string& event)> on_event;
    std::function<void(const std::string& what)> on_broken_promise;
    std::function<void(Fd)> dial_rendezvous;
    /// `arrives`: when the launcher's machine will have heard of it; none: perhaps never.
    std::function<void(const Running&, const ExitStatus&, std::optional<Time> arrives)> on_exit;
    std::function<void()> on_started;
    std::function<void()> on_barrier;
    std::function<void(const TaskId& told, const Notice&)> on_notice;
  };
  SimulatedHost(Site& site, HostFate fate, Handlers handlers);
  SimulatedHost(const SimulatedHost&) = delete;
  SimulatedHost& operator=(const SimulatedHost&) = delete;

  /// The next try to log in.
  Result<SpawnedProcess> log_in(const std::string& name);

  void kill_agent();
  /// Nothing passes between it and the launcher any more.
  void cut();
  void mend();
  void slow_down(Duration latency);
  void slip(Slip slip);

  const std::vector<Running>& tasks() const { return tasks_; }
  bool agent_alive() const { return agent_alive_; }
  /// And it believes in its launcher.
  bool agent_serves() const { return agent_alive_ && !lost_; }
  bool is_cut() const { return cut_; }
  bool paused() const { return paused_; }
  int tries() const { return tries_; }

 private:
  Login next_login() const;
  void answer_login(Login login, const std::string& name, Fd messages);
  void start_agent();
  void receive(ByteSpan bytes);
  void read_frames();
  void handle(const FrameView& message);
  void check_order(MessageType type);
  void prepare(Prepare wanted);
  void launch(const Launch& wanted);
  void look_for_mpi();
  void start_task(size_t index, const TaskLaunch& wanted);
  void signal_all(int number);
  void send_output(size_t index);
  std::optional<Time> arrival() const;
  void exited(size_t index, ExitStatus status);
  void beat();
  void launcher_lost();
  void end_everything();
  void finish_if_ended();
  void say(MessageType type, uint32_t stream, ByteSpan payload);
  void tell(const std::string& event) { handlers_.on_event(event); }

  Site& site_;
  HostFate fate_;
  Handlers handlers_;
  std::vector<std::unique_ptr<Cable>> cables_;  ///< one a try; the last one is in use
  int tries_ = 0;
  Timer login_timer_;
  size_t awaited_push_ = 0;
  Bytes in_;
  bool input_ended_ = false;
  MessageAssembler assembler_;
  bool agent_alive_ = false;
  bool cut_ = false;
  std::optional<Prepare> prepared_;
  Lease lease_;
  Timer heartbeat_;
  Timer kill_timer_;
  Timer mpi_timer_;
  std::vector<Running> tasks_;
  bool paused_ = false;
  bool ending_ = false;
  bool finish_asked_ = false;
  bool finished_ = false;
  bool lost_ = false;
};

}  // namespace dt
