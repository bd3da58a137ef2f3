#include "launcher/agent/task_process.h"

#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <csignal>

namespace dt {
namespace {

/// A shell script run as a task, and the results of its handlers.
struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::unique_ptr<TaskProcess> task;
  std::string program = "/bin/sh";
  PerWrittenStream<std::string> written;
  std::string& output = written[TaskStream::output];
  std::string& error = written[TaskStream::error];
  std::string& result = written[TaskStream::result];
  int ends = 0;
  uint32_t input_taken = 0;
  std::optional<Result<>> executed;
  std::optional<ExitStatus> status;

  void start(const std::string& script, TaskProcess::Options options = {}) {
    task = TaskProcess::start(
               *loop,
               {.path = program,
                .arguments = {"sh", "-c", script},
                .environment = {"PATH=/usr/bin:/bin"}},
               options,
               {.on_executed = [this](const Result<>& done) { executed = done; },
                .on_output = [this](TaskStream stream,
                                    ByteSpan bytes) { written[stream] += as_text(bytes); },
                .on_output_end = [this](TaskStream) { ++ends; },
                .on_input_taken = [this](uint32_t bytes) { input_taken += bytes; },
                .on_exit = [this](ExitStatus exit) { status = exit; }})
               .value();
  }
  void run_to_end() {
    run_until(*loop, [this] { return status && ends == 2; });
  }
};

TEST_CASE_FIXTURE(Fixture, "TaskProcess reports both streams, their ends and the status") {
  start("echo out; echo err >&2; exit 3");
  run_to_end();
  CHECK(output == "out\n");
  CHECK(error == "err\n");
  REQUIRE(executed);
  CHECK(executed->has_value());
  CHECK(status == ExitStatus{.code = 3});
  CHECK(task->exited());
  CHECK_FALSE(task->output_open());
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess reports why the program does not run, and then no end") {
  program = "/no/such/file";
  start("");
  run_until(*loop, [this] { return executed && ends == 2; });
  REQUIRE_FALSE(executed->has_value());
  CHECK(executed->error().code == Errc::not_found);
  CHECK_FALSE(status);
  CHECK(task->exited());
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess reports that the program runs before its output") {
  start("echo out; cat", {.wants_input = true});
  run_until(*loop, [this] { return !output.empty(); });
  CHECK(executed);
  task->end_input();
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess: one pipe for both streams keeps the order written") {
  start("for i in 1 2 3; do echo out $i; echo err $i >&2; done", {.merge_stderr = true});
  run_until(*loop, [this] { return status && ends == 1; });
  CHECK(output == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
  CHECK(error.empty());
  CHECK_FALSE(task->output_open());
  CHECK_FALSE(task->output_waits_for_credit());
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskProcess: a result has a pipe of its own, whose number the task knows") {
  start("echo out; echo result >/dev/fd/$DTRAIN_RESULT_FD", {.wants_result = true});
  run_until(*loop, [this] { return status && ends == 3; });
  CHECK(output == "out\n");
  CHECK(result == "result\n");
  CHECK_FALSE(task->output_open());
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess reads no more than its credit, and the task waits") {
  start("head -c 1000000 /dev/zero; echo done >&2");
  run_until(*loop, [this] { return task->output_waits_for_credit(); });
  CHECK(output.size() == stream_window_bytes);
  CHECK_FALSE(status);
  CHECK(task->add_credit(TaskStream::output, 100));
  run_until(*loop, [this] { return task->output_waits_for_credit(); });
  CHECK(output.size() == stream_window_bytes + 100);
  while (output.size() < 1'000'000 - stream_window_bytes) {
    CHECK(task->add_credit(TaskStream::output, stream_window_bytes));
    run_until(*loop, [this] { return task->output_waits_for_credit(); });
  }
  CHECK(task->add_credit(TaskStream::output, stream_window_bytes));
  run_to_end();
  CHECK(output.size() == 1'000'000);
}

TEST_CASE_FIXTURE(Fixture,
                  "TaskProcess: credit for more output than there was breaks the protocol") {
  start("echo out; cat", {.wants_input = true});
  run_until(*loop, [this] { return output == "out\n"; });
  const auto more = task->add_credit(TaskStream::output, 5);
  REQUIRE_FALSE(more);
  CHECK(more.error().code == Errc::protocol);
  CHECK(task->add_credit(TaskStream::output, 4));
  CHECK_FALSE(task->add_credit(TaskStream::error, 1));
  task->end_input();
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess: credit for its input is not credit for its errors") {
  start("echo err >&2; cat", {.wants_input = true});
  run_until(*loop, [this] { return error == "err\n"; });
  const auto granted = task->add_credit(TaskStream::input, 4);
  REQUIRE_FALSE(granted);
  CHECK(granted.error().code == Errc::protocol);
  task->end_input();
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess reports the end after the output written before it") {
  program = "/usr/bin/python3";
  constexpr size_t size = 200'000;
  start(
      "import fcntl, os\n"
      "for fd in 1, 2:\n"
      "    fcntl.fcntl(fd, 1031, 262144)  # F_SETPIPE_SZ\n"
      "    os.write(fd, bytes(200000))\n");
  siginfo_t info = {};
  CHECK(::waitid(P_PID, static_cast<id_t>(task->pid()), &info, WEXITED | WNOWAIT) == 0);
  run_until(*loop, [this] { return status.has_value(); });
  CHECK(output.size() == size);
  CHECK(error.size() == size);
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess: discarded output does not block the task") {
  start("head -c 5000000 /dev/zero");
  run_until(*loop, [this] { return task->output_waits_for_credit(); });
  task->discard_output();
  run_to_end();
  CHECK(output.size() == stream_window_bytes);
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess writes input as fast as the task reads it, to its end") {
  start("sleep 0.05; wc -c", {.wants_input = true});
  const Bytes zeros(300'000);
  task->write_input(zeros);
  task->end_input();
  CHECK(input_taken < zeros.size());
  run_to_end();
  CHECK(output == "300000\n");
  CHECK(input_taken == zeros.size());
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess: input that the task does not want counts as taken") {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  start("exec true", {.wants_input = true});
  task->write_input(Bytes(300'000));
  run_until(*loop, [this] { return input_taken == 300'000; });
  run_to_end();
  const timespec none = {};
  sigtimedwait(&pipe_signal, nullptr, &none);
  pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess: a signal reaches the whole group") {
  start(
      "trap 'wait; exit 7' TERM;"
      "(trap 'echo child; exit' TERM; echo ready; while :; do sleep 0.02; done) & wait");
  run_until(*loop, [this] { return output == "ready\n"; });
  task->signal(SIGTERM);
  run_to_end();
  CHECK(output == "ready\nchild\n");
  REQUIRE(status);
  CHECK(status->code == 7);
  CHECK(status->signal == 0);
}

TEST_CASE_FIXTURE(
    Fixture, "TaskProcess: processes that a task has left keep its stream open, not the task") {
  start("sleep 2 & exit 0");
  run_until(*loop, [this] { return status.has_value(); });
  CHECK(task->output_open());
  run_to_end();
}

TEST_CASE_FIXTURE(Fixture, "TaskProcess: the next attempt continues a stream, and its credit") {
  start("head -c 300000 /dev/zero; echo last >&2; kill -9 $$");
  run_until(*loop, [this] { return output.size() == stream_window_bytes; });
  REQUIRE(task->add_credit(TaskStream::output, 20'000));
  run_until(*loop, [this] { return output.size() == stream_window_bytes + 20'000; });
  REQUIRE(task->add_credit(TaskStream::output, 10'000));
  run_until(*loop, [this] { return status.has_value(); });
  const TaskProcess::Carried carried = task->release(TaskStream::output);
  const size_t left = 300'000 - stream_window_bytes - 30'000;
  CHECK(carried.unread.size() == left);
  CHECK(carried.credit.room() == 0);
  const TaskProcess::Carried errors = task->release(TaskStream::error);
  CHECK(errors.unread.empty());
  CHECK(error == "last\n");
  CHECK(ends == 1);

  executed.reset();
  status.reset();
  start("printf next", {.carried = {{carried, errors}}});
  run_until(*loop, [this] { return status.has_value(); });
  CHECK(output.size() == 300'000 - left);
  REQUIRE(task->add_credit(TaskStream::output, 30'000));
  run_until(*loop, [this] { return ends == 3; });
  CHECK(output.size() == 300'004);
  CHECK(output.ends_with(std::string(1, '\0') + "next"));
}

}  // namespace
}  // namespace dt
