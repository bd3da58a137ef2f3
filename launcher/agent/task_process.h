#pragma once

#include "base/bytes.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/process/child.h"
#include "launcher/protocol/message.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace dt {

/// One running task on this host, with the pipes to its three standard streams. Output is read only
/// as far as the receiver has given credit; input is written as the task takes it.
class TaskProcess {
 public:
  struct Handlers {
    /// Called once and before the others: the program runs, or why it does not; then there will be
    /// no on_exit.
    std::function<void(Result<>)> on_executed;
    std::function<void(TaskStream, ByteSpan)> on_output;
    std::function<void(TaskStream)> on_output_end;
    /// So many bytes of input have been taken by the task (or thrown away, since it reads no more).
    std::function<void(uint32_t)> on_input_taken;
    /// After all that it had written before its end, as far as there is credit.
    std::function<void(ExitStatus)> on_exit;
  };
  struct Options {
    bool wants_input = false;
    bool merge_stderr = false;  ///< both go into one pipe; there is no error stream then
  };
  /// request.input, output and error are set here.
  static Result<std::unique_ptr<TaskProcess>> start(Loop& loop, ChildRequest request,
                                                    Options options, Handlers handlers);
  TaskProcess(const TaskProcess&) = delete;
  TaskProcess& operator=(const TaskProcess&) = delete;

  pid_t pid() const { return child_.pid(); }
  bool exited() const { return exited_; }
  /// Known once it has exited.
  const ResourceUse& used() const { return child_.used(); }
  bool output_open() const { return output_.pipe || error_.pipe; }
  /// There may be unread output that the receiver has not asked for yet.
  bool output_waits_for_credit() const {
    return (output_.pipe && output_.credit == 0) || (error_.pipe && error_.credit == 0);
  }
  /// Tells on_executed if it is known by now. Its own output and end tell it too.
  void look_at_exec();
  /// To its process group, while its leader has not been reaped.
  void signal(int number) const;
  void add_credit(TaskStream stream, uint32_t bytes);
  /// Nobody takes the output any more: read it and throw it away, so that the task can end.
  void discard_output();
  void write_input(ByteSpan bytes);
  void end_input();

 private:
  struct Source {
    Fd pipe;
    Watch watch;  // after the pipe: destroyed before it is closed
    uint32_t credit = stream_window_bytes;
  };
  TaskProcess(Loop& loop, Child child, Handlers handlers)
      : loop_(loop), child_(std::move(child)), handlers_(std::move(handlers)) {}
  Source& source(TaskStream stream) { return stream == TaskStream::output ? output_ : error_; }
  Result<> watch_all();
  void read_output(TaskStream stream);
  /// What is in the pipe by now, as far as there is credit.
  void read_rest(TaskStream stream);
  Result<> watch_output(TaskStream stream);
  /// The same, later: a stream that cannot be watched any more is given up as at its end.
  void watch_or_end(TaskStream stream);
  void flush_input();
  void child_ended();

  Loop& loop_;
  Child child_;
  Handlers handlers_;
  Watch exit_watch_;
  Source output_;
  Source error_;
  Fd input_;
  Watch input_watch_;
  Bytes input_queue_;
  bool input_ending_ = false;
  bool executed_ = false;  ///< on_executed has been told
  bool exited_ = false;
  bool discarding_ = false;
};

}  // namespace dt
