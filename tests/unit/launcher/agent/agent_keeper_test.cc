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

/// What a process with a keeper ended with, and what it and all that it has left wrote to stderr.
struct Kept {
  int status = 0;
  std::string said;
};

/// Returns when all that `serve` has started is gone: each holds the pipe's end.
Kept keep(const std::function<int()>& serve) {
  Pipe pipe = make_pipe().value();
  const pid_t keeper = fork();
  REQUIRE(keeper >= 0);
  if (keeper == 0) {
    dup2(pipe.write.get(), STDERR_FILENO);
    _exit(keep_agent(serve));
  }
  pipe.write.reset();
  Kept kept;
  std::array<char, 256> buffer;
  for (ssize_t n = 0; (n = read(pipe.read.get(), buffer.data(), buffer.size())) > 0;)
    kept.said.append(buffer.data(), static_cast<size_t>(n));
  int status = 0;
  REQUIRE(waitpid(keeper, &status, 0) == keeper);
  REQUIRE(WIFEXITED(status));
  kept.status = WEXITSTATUS(status);
  return kept;
}

/// In a session of its own, and no child of the agent's any more.
void leave_something_behind() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    std::signal(SIGTERM, SIG_DFL);  // doctest reports it
    if (fork() == 0) pause();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

TEST_CASE("keep_agent: an agent that ends by itself has the last word") {
  for (const int status : {0, 1, 7}) {
    const Kept kept = keep([status] { return status; });
    CHECK(kept.status == status);
    CHECK(kept.said.empty());
  }
}

TEST_CASE("keep_agent: what a killed agent leaves is ended, and how it ended is told") {
  for (const int number : {SIGKILL, SIGABRT}) {
    const Kept kept = keep([number] {
      leave_something_behind();
      std::signal(number, SIG_DFL);
      raise(number);
      return 0;
    });
    CHECK(kept.status == 128 + number);
    CHECK(kept.said == format("{}{}\n", agent_ended_word, ExitStatus{.signal = number}.text()));
  }
}

TEST_CASE("keep_agent: what an agent leaves that failed is ended, too") {
  const Kept kept = keep([] {
    leave_something_behind();
    return 1;
  });
  CHECK(kept.status == 1);
}

}  // namespace
}  // namespace dt
