#pragma once

#include "base/io/loop.h"
#include "launcher/agent/resource_scanner.h"
#include "launcher/network/bandwidth.h"
#include "launcher/process/child.h"
#include "launcher/protocol/diagnose_messages.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// An agent's part in `dtrain check`: gathers the facts of its host, and measures the way to
/// others.
class Diagnostics {
 public:
  using Send = std::function<void(MessageType type, ByteSpan payload)>;
  Diagnostics(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  /// Fills in `answer` and sends it as `examined`: its probe points, where its bulk points shall
  /// listen and its first reading of the clock are the caller's to give. Python and NVIDIA's driver
  /// have some seconds for theirs.
  void diagnose(const DiagnoseRequest& wanted, DiagnoseReply answer, uint64_t open_files_soft);
  /// Answers with `measured`.
  void measure(const Measure& wanted);
  /// Whether it is a child of this, which reaps it.
  bool owns(pid_t pid) const { return python_ && python_->pid() == pid; }

 private:
  void ask_python(const std::string& path);
  void python_ended();
  void ask_driver();
  void answer_when_complete();

  Loop& loop_;
  Send send_;
  DiagnoseReply answer_;
  Claim claim_;
  std::unique_ptr<BandwidthServer> bandwidth_server_;
  std::unique_ptr<BandwidthClient> bandwidth_client_;
  std::optional<Child> python_;
  std::unique_ptr<ResourceScanner> scanner_;
  bool driver_answered_ = false;
  Fd python_says_;
  Watch python_watch_;
  Timer python_timer_;
};

}  // namespace dt
