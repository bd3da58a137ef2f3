#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/signals.h"
#include "launcher/agent/diagnostics.h"
#include "launcher/agent/launcher_link.h"
#include "launcher/agent/local_host.h"
#include "launcher/agent/preparation.h"
#include "launcher/agent/task_run.h"
#include "launcher/process/open_files.h"
#include "launcher/protocol/message.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace dt {

/// The agent: it takes each message of its launcher to the part that handles it, and ends with its
/// launcher.
class AgentSession {
 public:
  explicit AgentSession(Loop& loop) : loop_(loop) {}
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  /// Takes the two descriptors, as LauncherLink::open() does, and sends hello.
  Result<> open(Fd in, Fd out, AgentLocation location, std::optional<Session> session = {});

 private:
  void signalled(int number);
  Result<> handle(const FrameView& frame);
  /// Handles a message about one stream of a task or of the relay.
  Result<> handle_stream_message(MessageType type, const FrameView& frame);
  Result<> prepare(Prepare wanted);
  void diagnose(const DiagnoseRequest& wanted);
  Result<> launch(Launch wanted);
  void pause();
  void resume();
  void launcher_lost();
  void tasks_ended(const Finished& finished);

  Loop& loop_;
  std::unique_ptr<Signals> signals_;
  LauncherLink link_{loop_,
                     {.on_message = [this](const FrameView& frame) { return handle(frame); },
                      .on_beat = [this] { run_.tasks().check_execs(); },
                      .on_lost = [this] { launcher_lost(); }}};
  Preparation preparation_{
      loop_, [this](MessageType type, ByteSpan payload) { link_.send(type, 0, payload); }};
  Diagnostics diagnostics_{
      loop_, [this](MessageType type, ByteSpan payload) { link_.send(type, 0, payload); }};
  TaskRun run_{loop_,
               {.send = [this](MessageType type, uint32_t stream,
                               ByteSpan payload) { link_.send(type, stream, payload); },
                .owns_other = [this](pid_t pid) { return diagnostics_.owns(pid); },
                .on_ended = [this](const Finished& finished) { tasks_ended(finished); }}};
  uint64_t open_files_max_ =
      raise_open_files_limit();  ///< of tasks: the soft limit before we raised ours
};

}  // namespace dt
