#pragma once

#include "base/io/loop.h"
#include "launcher/agent/local_tasks.h"
#include "launcher/agent/resource_scanner.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/network/probe.h"
#include "launcher/protocol/diagnose_messages.h"
#include "launcher/protocol/host_resources.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// An agent's part before the launch. It finds the programs of the tasks, holds their ports, lists
/// the host's CPUs and GPUs, and probes the network. `dtrain check` needs only the last two.
class Preparation {
 public:
  /// Sends a message that belongs to no task.
  using Send = std::function<void(MessageType type, ByteSpan payload)>;
  Preparation(Loop& loop, Send send) : loop_(loop), send_(std::move(send)) {}
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  /// Returns the answer, with a failure when the tasks cannot run here. Listens for probes if
  /// `wanted` asks for it. A later order replaces the earlier one, or is its second stage.
  Prepared prepare(Prepare wanted);
  /// Listens for the probes and measurements of `dtrain check`. Sets the addresses in `answer`, or
  /// the reason why there are none.
  void prepare_check(const DiagnoseRequest& wanted, DiagnoseReply& answer);
  /// Dials the targets, and sends `reached`. Does nothing when no prepare came before.
  void probe(Probe wanted);
  /// Sends `resources` when they are known.
  Result<> find_resources(const ResourcesWanted& wanted);
  /// Ends probes and the search for resources: tasks start now. The ports stay held.
  void end();

  const LocalTasks::Programs& programs() const { return programs_; }
  /// Returns the numbers of the ports that it holds.
  std::vector<uint16_t> held_ports() const;

 private:
  Result<> check(Prepared& answer);
  Result<> find_programs();
  Result<LocalTasks::Program> program_of(const std::vector<std::string>& command,
                                         const std::string& path) const;
  Result<std::vector<uint16_t>> hold_all_ports();
  Result<uint16_t> probe_port();
  Result<> listen(const std::vector<std::string>& networks, uint16_t port);

  Loop& loop_;
  Send send_;
  Prepare wanted_;
  LocalTasks::Programs programs_;
  std::vector<HeldPort> held_ports_;
  std::unique_ptr<ProbeListener> probe_listener_;
  std::unique_ptr<ProbeDialer> probe_dialer_;
  std::unique_ptr<ResourceScanner> scanner_;
};

}  // namespace dt
