#include "launcher/agent/task_process.h"

#include "base/format.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace dt {

Result<std::unique_ptr<TaskProcess>> TaskProcess::start(Loop& loop, ChildRequest request,
                                                        Options options, Handlers handlers) {
  PerWrittenStream<Pipe> pipes;
  pipes[TaskStream::output] = TRY(make_pipe());
  if (!options.merge_stderr) pipes[TaskStream::error] = TRY(make_pipe());
  Pipe input;
  if (options.wants_input) {
    input = TRY(make_pipe());
    request.input = input.read.get();
  }
  request.output = pipes[TaskStream::output].write.get();
  request.error = options.merge_stderr ? request.output : pipes[TaskStream::error].write.get();
  if (options.wants_result) {
    pipes[TaskStream::result] = TRY(make_pipe());
    request.kept = pipes[TaskStream::result].write.get();
    request.environment.push_back(format("DTRAIN_RESULT_FD={}", request.kept));
  }
  if (options.line_buffered) {
    // The library of line_buffer.h compares this text with the link of stdout in /proc.
    struct stat pipe = {};
    ::fstat(request.output, &pipe);
    request.environment.push_back(format("DTRAIN_LINE_BUFFERED=pipe:[{}]", pipe.st_ino));
  }
  Child child = TRY(Child::start(std::move(request)));
  std::unique_ptr<TaskProcess> task(new TaskProcess(loop, std::move(child), std::move(handlers)));
  task->input_ = std::move(input.write);
  for (const TaskStream stream : written_streams) {
    Carried& carried = options.carried[stream];
    task->sources_[stream] = {.pipe = std::move(pipes[stream].read),
                              .watch = Watch(),
                              .credit = carried.credit,
                              .carried = std::move(carried.unread)};
  }
  if (const auto watched = task->watch_all(); !watched) {
    // The agent would not see the end of such a task, so there must be none.
    [[maybe_unused]] const auto killed = task->child_.kill();
    return tl::unexpected(watched.error());
  }
  return task;
}

Result<> TaskProcess::watch_all() {
  exit_watch_ = TRY(loop_.watch(child_.pidfd(), EPOLLIN, [this](uint32_t) { child_ended(); }));
  if (input_) TRY(set_nonblocking(input_.get()));
  for (const TaskStream stream : written_streams) {
    if (const Fd& pipe = sources_[stream].pipe) TRY(set_nonblocking(pipe.get()));
    TRY(watch_output(stream));
  }
  return {};
}

Result<> TaskProcess::watch_output(TaskStream stream) {
  Source& from = sources_[stream];
  send_carried(stream);
  const bool wanted = from.pipe && (from.credit.room() > 0 || discarding_);
  if (!wanted) {
    // The watch is removed, since epoll reports a hang-up even without requested events.
    from.watch = Watch();
  } else if (!from.watch) {
    from.watch = TRY(
        loop_.watch(from.pipe.get(), EPOLLIN, [this, stream](uint32_t) { read_output(stream); }));
  }
  return {};
}

void TaskProcess::send_carried(TaskStream stream) {
  Source& from = sources_[stream];
  if (discarding_) from.carried.clear();
  while (!from.carried.empty() && from.credit.room() > 0) {
    const size_t size =
        std::min<size_t>({from.carried.size(), from.credit.room(), stream_chunk_bytes});
    from.credit.sent(size);
    handlers_.on_output(stream, ByteSpan(from.carried).first(size));
    from.carried.erase(from.carried.begin(), from.carried.begin() + static_cast<ptrdiff_t>(size));
  }
}

void TaskProcess::watch_or_end(TaskStream stream) {
  if (watch_output(stream)) return;
  sources_[stream].pipe.reset();
  handlers_.on_output_end(stream);
}

void TaskProcess::read_output(TaskStream stream) {
  Source& from = sources_[stream];
  std::array<std::byte, stream_chunk_bytes> buffer;
  const size_t room = discarding_ ? buffer.size() : std::min(buffer.size(), from.credit.room());
  const ssize_t n = ::read(from.pipe.get(), buffer.data(), room);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    from.watch = Watch();
    from.pipe.reset();
    handlers_.on_output_end(stream);
    return;
  }
  if (discarding_) return;
  check_exec();
  from.credit.sent(static_cast<size_t>(n));
  handlers_.on_output(stream, ByteSpan(buffer).first(static_cast<size_t>(n)));
  watch_or_end(stream);
}

void TaskProcess::read_rest(TaskStream stream) {
  const Source& from = sources_[stream];
  int bytes = 0;
  // The credit limits the loop: processes that the task has left may still write.
  while (!discarding_ && from.pipe && from.credit.room() > 0 &&
         ::ioctl(from.pipe.get(), FIONREAD, &bytes) == 0 && bytes > 0)
    read_output(stream);
}

TaskProcess::Carried TaskProcess::release(TaskStream stream) {
  read_rest(stream);
  Source& from = sources_[stream];
  Carried carried{.credit = from.credit, .unread = std::move(from.carried)};
  if (!from.pipe) return carried;
  int bytes = 0;
  // With credit, the agent has read all output. Otherwise the pipe holds no more than its buffer.
  if (!discarding_ && ::ioctl(from.pipe.get(), FIONREAD, &bytes) == 0 && bytes > 0) {
    const size_t had = carried.unread.size();
    carried.unread.resize(had + static_cast<size_t>(bytes));
    const ssize_t n =
        ::read(from.pipe.get(), carried.unread.data() + had, static_cast<size_t>(bytes));
    carried.unread.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  from.watch = Watch();
  from.pipe.reset();
  if (carried.unread.empty()) handlers_.on_output_end(stream);
  return carried;
}

Result<> TaskProcess::add_credit(TaskStream stream, uint32_t bytes) {
  if (stream == TaskStream::input) return fail(Errc::protocol, "credit for the input of a task");
  TRY(sources_[stream].credit.granted(bytes));
  watch_or_end(stream);
  return {};
}

void TaskProcess::discard_output() {
  discarding_ = true;
  for (const TaskStream stream : written_streams)
    watch_or_end(stream);
}

void TaskProcess::write_input(ByteSpan bytes) {
  input_queue_.insert(input_queue_.end(), bytes.begin(), bytes.end());
  flush_input();
}

void TaskProcess::end_input() {
  input_ending_ = true;
  flush_input();
}

void TaskProcess::flush_input() {
  size_t taken = 0;
  while (taken < input_queue_.size()) {
    const ssize_t n =
        input_ ? ::write(input_.get(), input_queue_.data() + taken, input_queue_.size() - taken)
               : static_cast<ssize_t>(input_queue_.size() - taken);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      // The task has closed its stdin: the rest is dropped.
      input_watch_ = Watch();
      input_.reset();
      continue;
    }
    taken += static_cast<size_t>(n);
  }
  input_queue_.erase(input_queue_.begin(), input_queue_.begin() + static_cast<ptrdiff_t>(taken));
  if (input_queue_.empty()) {
    input_watch_ = Watch();
    if (input_ending_) input_.reset();
  } else if (!input_watch_) {
    auto watch = loop_.watch(input_.get(), EPOLLOUT, [this](uint32_t) { flush_input(); });
    if (watch) input_watch_ = *std::move(watch);
  }
  if (taken > 0) handlers_.on_input_taken(static_cast<uint32_t>(taken));
}

void TaskProcess::check_exec() {
  if (executed_) return;
  const std::optional<Result<>> result = child_.executed();
  if (!result) return;
  executed_ = true;
  handlers_.on_executed(*result);
}

void TaskProcess::child_ended() {
  exit_watch_ = Watch();
  auto status = child_.reap();
  exited_ = true;
  for (const TaskStream stream : written_streams)
    read_rest(stream);
  check_exec();
  if (child_.executed()->has_value()) handlers_.on_exit(status ? *status : ExitStatus{.code = 127});
}

void TaskProcess::signal(int number) const {
  if (!exited_) child_.signal_group(number);
}

}  // namespace dt
