#include "launcher/agent/agent_keeper.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "launcher/protocol/message.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace dt {
namespace {

/// The exit status of a keeper, and the stderr of it and of all processes below it.
struct KeeperEnd {
  int status = 0;
  std::string stderr_text;
};

/// Returns when all processes that `serve` has started have ended, since each holds the pipe open.
KeeperEnd run_keeper(const std::function<int()>& serve) {
  Pipe pipe = make_pipe().value();
  const pid_t keeper = fork();
  REQUIRE(keeper >= 0);
  if (keeper == 0) {
    dup2(pipe.write.get(), STDERR_FILENO);
    _exit(keep_agent(serve));
  }
  pipe.write.reset();
  KeeperEnd end;
  std::array<char, 256> buffer;
  for (ssize_t n = 0; (n = read(pipe.read.get(), buffer.data(), buffer.size())) > 0;)
    end.stderr_text.append(buffer.data(), static_cast<size_t>(n));
  int status = 0;
  REQUIRE(waitpid(keeper, &status, 0) == keeper);
  REQUIRE(WIFEXITED(status));
  end.status = WEXITSTATUS(status);
  return end;
}

/// Leaves a process with a session of its own that is no child of the agent any more.
void leave_process() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    std::signal(SIGTERM, SIG_DFL);  // doctest handles it
    if (fork() == 0) pause();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

TEST_CASE("keep_agent: an agent that ends by itself decides the status") {
  for (const int status : {0, 1, 7}) {
    const KeeperEnd end = run_keeper([status] { return status; });
    CHECK(end.status == status);
    CHECK(end.stderr_text.empty());
  }
}

TEST_CASE("keep_agent: processes of a killed agent are ended, and its end is reported") {
  for (const int number : {SIGKILL, SIGABRT}) {
    const KeeperEnd end = run_keeper([number] {
      leave_process();
      std::signal(number, SIG_DFL);
      raise(number);
      return 0;
    });
    CHECK(end.status == 128 + number);
    CHECK(end.stderr_text ==
          format("{}{}\n", agent_ended_word, ExitStatus{.signal = number}.text()));
  }
}

TEST_CASE("keep_agent: processes of an agent that failed are ended, too") {
  const KeeperEnd end = run_keeper([] {
    leave_process();
    return 1;
  });
  CHECK(end.status == 1);
}

}  // namespace
}  // namespace dt
