#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/console/sink.h"
#include "launcher/console/task_output.h"
#include "launcher/protocol/message.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace dt {

/// How long the tasks of a node wait for the reader of its own output.
inline constexpr Duration own_reader_patience = seconds(10);

/// The output of a node's own tasks, which this node prints beside node 0. Tasks wait for a slow
/// reader up to the patience. From then on output is dropped until the reader has taken what waits.
/// A line has how much that was, and node 0 has all of it.
class NodeOutput {
 public:
  /// All outlive it.
  struct Parts {
    Loop& loop;
    Log& log;
    Sink& out;
    Sink& err;
  };
  struct Events {
    /// These bytes of the stream with this number are written, or dropped.
    std::function<void(uint32_t stream, size_t bytes)> on_taken;
    std::function<void()> on_room;  ///< is_full() may be false again
  };
  NodeOutput(const Parts& parts, TaskOutput::Options options, Duration patience, Events events)
      : parts_(parts),
        options_(std::move(options)),
        patience_(patience),
        events_(std::move(events)) {}
  NodeOutput(const NodeOutput&) = delete;
  NodeOutput& operator=(const NodeOutput&) = delete;

  /// The tasks of this launch start, the first ones or those of a new generation.
  Result<> begin(const Launch& wanted);
  void restarted(const TaskId& task);
  /// Prints a chunk of the stream with this number, if it is one of a task that prints.
  void add(uint32_t stream, ByteSpan bytes);
  void end(uint32_t stream);

  bool has_tasks() const { return !tasks_.empty(); }
  /// True while the tasks wait for the reader.
  bool is_full() const;
  /// True while text waits for a reader that may still take it.
  bool waits() const { return unwritten_ > 0 && !unread_; }
  /// No task writes any more: the patience begins for all text that waits.
  void close();
  /// The user waits no longer for the reader.
  void stop_waiting() { unread_ = true; }

 private:
  std::optional<StreamId> printed(uint32_t stream) const;
  void written(uint32_t stream, size_t bytes);
  void watch();
  void lose_reader();
  void drop(uint32_t stream, size_t bytes);

  Parts parts_;
  TaskOutput::Options options_;
  Duration patience_;
  Events events_;
  std::vector<Task> tasks_;             ///< of this node, by their streams
  std::unique_ptr<TaskOutput> output_;  ///< null before the launch
  size_t unwritten_ = 0;                ///< bytes that the console has not taken
  bool is_closed_ = false;
  bool unread_ = false;     ///< the reader has taken nothing for the patience
  uint64_t dropped_ = 0;    ///< bytes since then
  std::set<uint32_t> cut_;  ///< streams that have lost bytes since then
  Timer patience_timer_;
};

}  // namespace dt
