#pragma once

#include "base/io/loop.h"
#include "launcher/agent/resource_scanner.h"
#include "launcher/network/bandwidth.h"
#include "launcher/process/forked_query.h"
#include "launcher/process/program_query.h"
#include "launcher/protocol/diagnose_messages.h"

#include <functional>
#include <memory>
#include <string>

namespace dt {

/// An agent's part in `dtrain check`: gathers the facts of its host, and measures the network to
/// other hosts.
class Diagnostics {
 public:
  using Send = std::function<void(MessageType type, ByteSpan payload)>;
  Diagnostics(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  /// Fills in `answer` and sends it as `diagnosed`, after some seconds at most: Python and NVIDIA's
  /// driver take their time. Requires that the caller has set the probe points, the addresses of
  /// the bulk points and the time of receipt.
  void diagnose(const DiagnoseRequest& wanted, DiagnoseReply answer, uint64_t open_files_soft);
  /// Measures, and sends the result as `measured`.
  void measure(const Measure& wanted);
  /// True for a child that runs Python; only this object may reap it.
  bool owns(pid_t pid) const;

 private:
  void query_python(const DiagnoseRequest& wanted);
  void query_modules(const DiagnoseRequest& wanted);
  void query_command(const DiagnoseRequest& wanted);
  void query_surroundings(const DiagnoseRequest& wanted);
  void query_driver();
  /// Another answer is awaited; its end calls one_ended().
  void one_started() { ++awaited_; }
  void one_ended();

  Loop& loop_;
  Send send_;
  DiagnoseReply answer_;
  Claim claim_;
  std::unique_ptr<BandwidthServer> bandwidth_server_;
  std::unique_ptr<BandwidthClient> bandwidth_client_;
  std::unique_ptr<ProgramQuery> python_;
  std::unique_ptr<ProgramQuery> modules_;
  std::unique_ptr<ForkedQuery> command_;
  std::unique_ptr<ForkedQuery> surroundings_;
  std::unique_ptr<ResourceScanner> scanner_;
  int awaited_ = 0;  ///< answers
};

}  // namespace dt
