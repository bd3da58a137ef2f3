#pragma once

#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/connect/agent_connection.h"
#include "launcher/connect/spawned_process.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// A connection through the pipes of a process of this machine. That is the agent itself, or a
/// client program that connects to its host.
class ProcessConnection final : public AgentConnection {
 public:
  /// The facts from which `explain` derives why the connection ended.
  struct Facts {
    std::string stderr_text;           ///< the end of its stderr
    std::optional<ExitStatus> status;  ///< none: it still runs
    bool heard = false;                ///< it has sent bytes
    bool ended = false;                ///< it has closed its output
  };
  struct Options {
    /// True for a client, which hang_up() kills. False for an agent, which must end its tasks
    /// itself when its input ends.
    bool is_client = false;
    std::function<CloseReason(const Facts& facts)> explain;
    /// Returns the key that a client has used, from its stderr; may be empty.
    std::function<std::string(const std::string& stderr_text)> find_key = {};
  };
  static Result<std::unique_ptr<ProcessConnection>> open(Loop& loop, SpawnedProcess process,
                                                         Options options, Handlers handlers);
  ~ProcessConnection() override;

  void write(ByteSpan bytes) override;
  size_t unsent() const override { return stream_ ? stream_->unsent() : 0; }
  void close_after_sending() override;
  void hang_up() override;
  std::string login() const override {
    return options_.find_key ? options_.find_key(facts_.stderr_text) : "";
  }
  bool ended() const override { return !stream_ && !process_; }
  bool owns(pid_t pid) const override;
  void kill() override;
  CloseReason so_far() override;

 private:
  ProcessConnection(Loop& loop, Options options, Handlers handlers);
  Result<> begin(SpawnedProcess process);
  void read_messages();
  void stream_ended();
  Result<> watch_process();
  void process_ended();
  /// Calls `reap` for the process. Removes the error folder of an agent that was killed, which
  /// cannot do it itself.
  Result<ExitStatus> reap_process(const std::function<Result<ExitStatus>()>& reap);
  void finish();

  Loop& loop_;
  Options options_;
  Handlers handlers_;
  Facts facts_;
  bool end_reported_ = false;  ///< on_end was called, or must not be called any more
  std::optional<Child> process_;
  Watch exit_watch_;
  Timer patience_;
  Fd messages_;
  Watch messages_watch_;  // after its descriptor: destroyed before that is closed
  std::unique_ptr<Stream> stream_;
};

}  // namespace dt
