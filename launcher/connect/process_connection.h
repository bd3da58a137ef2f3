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

/// A process of this machine as a way, by its pipes: the agent itself, or a client that reaches it.
class ProcessConnection final : public AgentConnection {
 public:
  /// What is known when it ends.
  struct Facts {
    std::string said;                  ///< the end of what it wrote on its stderr
    std::optional<ExitStatus> status;  ///< none: it has not ended
    bool heard = false;                ///< bytes have come from it
    bool over = false;                 ///< no more will come
  };
  struct Options {
    /// A client of ours, which nobody misses; else an agent, which has to clean up when we hang up.
    bool is_client = false;
    std::function<End(const Facts& facts)> explain;
    /// Which key a client has used, from its words; may be empty.
    std::function<std::string(const std::string& said)> find_key = {};
  };
  static Result<std::unique_ptr<ProcessConnection>> open(Loop& loop, SpawnedProcess carrier,
                                                         Options options, Handlers handlers);
  ~ProcessConnection() override;

  void write(ByteSpan bytes) override;
  size_t unsent() const override { return stream_ ? stream_->unsent() : 0; }
  void close_after_sending() override;
  void hang_up() override;
  std::string login() const override {
    return options_.find_key ? options_.find_key(facts_.said) : "";
  }
  bool over() const override { return !stream_ && !process_; }
  bool owns(pid_t pid) const override;
  void kill() override;
  End so_far() override;

 private:
  ProcessConnection(Loop& loop, Options options, Handlers handlers);
  Result<> begin(SpawnedProcess carrier);
  void read_messages();
  void stream_ended();
  Result<> watch_process();
  void process_ended();
  /// Has `reap` collect the process, and removes what an agent that was killed has left.
  Result<ExitStatus> collect(const std::function<Result<ExitStatus>()>& reap);
  void finish();

  Loop& loop_;
  Options options_;
  Handlers handlers_;
  Facts facts_;
  bool told_ = false;  ///< or to be told to nobody
  std::optional<Child> process_;
  Watch exit_watch_;
  Timer patience_;
  Fd messages_;
  Watch messages_watch_;  // after its descriptor: destroyed before that is closed
  std::unique_ptr<Stream> stream_;
};

}  // namespace dt
