#pragma once

#include "base/bytes.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/process/child.h"
#include "launcher/protocol/message.h"
#include "launcher/protocol/stream_credit.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace dt {

/// One running task on this host, with the pipes to its streams. Reads output only as far as the
/// receiver has given credit. Writes input as fast as the task reads it.
class TaskProcess {
 public:
  struct Handlers {
    /// Called once, before the other handlers: the program runs, or the error why it does not.
    /// After an error, on_exit is not called.
    std::function<void(Result<>)> on_executed;
    std::function<void(TaskStream, ByteSpan)> on_output;
    std::function<void(TaskStream)> on_output_end;
    /// Called when the task has read so many bytes of input, or they were dropped since it reads no
    /// more.
    std::function<void(uint32_t)> on_input_taken;
    /// Called at the task's end, after the output that it had written, as far as there is credit.
    std::function<void(ExitStatus)> on_exit;
  };
  /// A stream of output that the next attempt of the task continues.
  struct Carried {
    StreamCredit credit = {};
    Bytes unread = {};  ///< of the attempt before: it waits for credit
  };
  struct Options {
    bool wants_input = false;
    bool merge_stderr = false;   ///< both streams use one pipe; there is no error stream
    bool line_buffered = false;  ///< the library of line_buffer.h is in its LD_PRELOAD
    /// A pipe whose number DTRAIN_RESULT_FD tells the task.
    bool wants_result = false;
    PerWrittenStream<Carried> carried = {};
  };
  /// Starts the task; sets the descriptors of `request` itself.
  static Result<std::unique_ptr<TaskProcess>> start(Loop& loop, ChildRequest request,
                                                    Options options, Handlers handlers);
  TaskProcess(const TaskProcess&) = delete;
  TaskProcess& operator=(const TaskProcess&) = delete;

  pid_t pid() const { return child_.pid(); }
  bool exited() const { return exited_; }
  /// Returns the resources that it has used; known once it has exited.
  const ResourceUse& used() const { return child_.used(); }
  bool output_open() const {
    return std::ranges::any_of(sources_.values,
                               [](const Source& source) { return bool(source.pipe); });
  }
  /// True if there may be output that waits for credit.
  bool output_waits_for_credit() const {
    return std::ranges::any_of(sources_.values, &Source::waits_for_credit);
  }
  /// Calls on_executed if the result is known by now. Output and the end do the same.
  void check_exec();
  /// Signals its process group, until its leader has been reaped.
  void signal(int number) const;
  /// Grants credit for output that its receiver no longer buffers. Fails with Errc::protocol for
  /// more bytes than on_output received, and for the stream of the input.
  Result<> add_credit(TaskStream stream, uint32_t bytes);
  /// Reads and drops the output from now on, so that the task can end.
  void discard_output();
  /// Closes the stream of a task that has exited, after all that it wrote. Processes that it has
  /// left can write no more. Calls on_output_end unless some bytes wait for credit.
  Carried release(TaskStream stream);
  void write_input(ByteSpan bytes);
  void end_input();

 private:
  struct Source {
    Fd pipe;
    Watch watch;  // after the pipe: destroyed before it is closed
    StreamCredit credit;
    Bytes carried = {};  ///< output of the attempt before, which comes first

    bool waits_for_credit() const { return pipe && credit.room() == 0; }
  };
  TaskProcess(Loop& loop, Child child, Handlers handlers)
      : loop_(loop), child_(std::move(child)), handlers_(std::move(handlers)) {}
  Result<> watch_all();
  void read_output(TaskStream stream);
  /// Reads all output that is in the pipe now, as far as there is credit.
  void read_rest(TaskStream stream);
  Result<> watch_output(TaskStream stream);
  void send_carried(TaskStream stream);
  /// Calls watch_output(). A stream that cannot be watched counts as ended.
  void watch_or_end(TaskStream stream);
  void flush_input();
  void child_ended();

  Loop& loop_;
  Child child_;
  Handlers handlers_;
  Watch exit_watch_;
  PerWrittenStream<Source> sources_;
  Fd input_;
  Watch input_watch_;
  Bytes input_queue_;
  bool input_ending_ = false;
  bool executed_ = false;  ///< on_executed was called
  bool exited_ = false;
  bool discarding_ = false;
};

}  // namespace dt
