#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/connect/process_connection.h"
#include "launcher/console/runtime.h"
#include "launcher/console/task_output.h"
#include "launcher/nodes/node_output.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/node_messages.h"
#include "rendezvous/secure/dial.h"
#include "rendezvous/secure/record_layer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A node of the job that is not node 0. It has an agent of its own on this machine, and carries
/// the messages between node 0 and that agent. On the way, the tasks get the command of this node,
/// and their output is printed here, too.
///
///   opened ─▶ serving ── dismissed ──▶ agent ends ─▶ ended: the job's status
///                ├───── node 0 lost ─▶ agent ends ─▶ ended: 3
///                └───── stop signal ─▶ leaving, tasks end in the grace ─▶ ended: 128 + signal
class NodeRelay {
 public:
  struct Options {
    NodeIntro intro;
    std::string path;              ///< in which the command is looked up; empty: node 0's
    Duration grace = seconds(10);  ///< of the tasks, when a signal ends this node
    TaskOutput::Options output;
  };
  NodeRelay(Runtime& runtime, Options options);
  NodeRelay(const NodeRelay&) = delete;
  NodeRelay& operator=(const NodeRelay&) = delete;

  /// Starts the agent, and introduces this node.
  Result<> open(Dialed node_0);
  /// Returns the status for this process when the job has ended here.
  Result<int> run();

 private:
  size_t receive_records(ByteSpan bytes);
  size_t receive_from_agent(ByteSpan bytes);
  /// Calls `take` with each whole message in front of `bytes`; returns how much that was.
  template <class Take>
  Result<size_t> take_messages(MessageAssembler& messages, ByteSpan bytes, Take take);
  Result<> from_node_0(const FrameView& message);
  Result<> prepare(const FrameView& message);
  Result<> launch(const FrameView& message);
  void to_agent(const FrameView& message);
  void send_records(ByteSpan bytes);
  void lose_node_0(const std::string& why);
  void from_agent(const FrameView& message);
  void taken(uint32_t stream, size_t bytes);
  void grant_held();
  void agent_ended(const std::string& why);
  void signalled(int number);
  void leave(const std::string& why, int status);
  void beat();
  void end(int status);

  Runtime& runtime_;
  Options options_;
  std::unique_ptr<Stream> link_;  ///< to node 0; null: it has ended
  std::optional<RecordLayer> records_;
  Bytes opened_;  ///< the content of records that is no whole message yet
  MessageAssembler from_node_0_;
  std::unique_ptr<ProcessConnection> agent_;
  bool spoken_ = false;  ///< the agent's magic line has come
  MessageAssembler from_agent_;
  bool lease_over_ = false;  ///< the agent has heard nothing from node 0 for too long
  bool finishing_ = false;   ///< the agent ends by order of node 0
  NodeOutput output_;
  Bytes held_credit_;          ///< messages that wait for the console
  std::optional<int> status_;  ///< of this process, once it is decided
  bool is_leaving_ = false;    ///< this node is the launcher of its agent, for the grace
  Duration heartbeat_interval_ = seconds(1);
  Timer heartbeat_;
  Timer end_timer_;
};

}  // namespace dt
