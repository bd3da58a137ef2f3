#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/signals.h"
#include "launcher/agent/diagnostics.h"
#include "launcher/agent/launcher_link.h"
#include "launcher/agent/local_host.h"
#include "launcher/agent/preparation.h"
#include "launcher/agent/task_run.h"
#include "launcher/mounts/host_mounts.h"
#include "launcher/process/open_files.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/recent_signals.h"
#include "launcher/sync/host/serve_sync.h"
#include "launcher/sync/host_connection.h"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// The agent: it takes each message of its launcher to the part that handles it, and ends with its
/// launcher. Each generation of the job has parts of its own.
class AgentSession {
 public:
  explicit AgentSession(Loop& loop);
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  /// Takes the two descriptors, as LauncherLink::open() does, and sends hello.
  Result<> open(Fd in, Fd out, AgentPlace place, std::optional<Session> session = {});

  /// The agent reports these to its launcher where a scheduler sends them.
  static constexpr std::array scheduler_signals = {SIGTERM, SIGUSR1, SIGUSR2};

 private:
  /// All that belongs to one generation of the job.
  struct Generation {
    explicit Generation(AgentSession& session);
    Preparation preparation;
    TaskRun run;
    RecentSignals from_scheduler;  ///< that reached all tasks
    std::vector<Bytes> held_ends;  ///< messages `exited` that may follow from SIGTERM
    Timer held_timer;
    bool stop_passed_on = false;         ///< the launcher's SIGTERM
    std::map<int, Timer> signal_timers;  ///< until a signal from the launcher is passed on
    bool stays = false;                  ///< the agent, for the next generation
  };
  void signalled(int number);
  bool is_from_scheduler(int number) const;
  void scheduler_signalled(int number);
  void signal_tasks(const SignalAll& wanted);
  void pass_on(int number);
  void send_from_run(MessageType type, uint32_t stream, ByteSpan payload);
  void send_held_ends();
  Result<> handle(const FrameView& frame);
  /// Handles a message about one stream of a task or of the relay.
  Result<> handle_stream_message(MessageType type, const FrameView& frame);
  Result<> prepare(Prepare wanted);
  void answer_prepare(Prepare wanted, const Result<>& mounted);
  void diagnose(const DiagnoseRequest& wanted);
  Result<> launch(Launch wanted);
  void pause();
  void resume();
  void launcher_lost();
  void tasks_ended(const Finished& finished);
  void report_end(const Finished& finished);
  void begin_anew(const Finished& finished);

  Loop& loop_;
  std::unique_ptr<Signals> signals_;
  LauncherLink link_{loop_,
                     {.on_message = [this](const FrameView& frame) { return handle(frame); },
                      .on_beat = [this] { generation_->run.tasks().check_execs(); },
                      .on_lost = [this] { launcher_lost(); }}};
  Diagnostics diagnostics_{
      loop_, [this](MessageType type, ByteSpan payload) { link_.send(type, 0, payload); }};
  HostConnection sync_{loop_,
                       [this](MessageType type, uint32_t stream, ByteSpan payload) {
                         link_.send(type, stream, payload);
                       },
                       serve_sync};
  HostMounts mounts_{loop_};
  bool scheduled_ = false;  ///< as in AgentPlace
  pid_t parent_ = getppid();
  bool stop_unreported_ = false;  ///< the scheduler's SIGTERM, before the launch
  uint64_t open_files_max_ =
      raise_open_files_limit();  ///< of tasks: the soft limit before we raised ours
  std::unique_ptr<Generation> generation_;
  Timer renewal_;
};

}  // namespace dt
