#include "comm/driver/stack_dump.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

namespace dt {
namespace {

struct ChildEnd {
  int status = 0;  ///< as waitpid reports it
  std::string error;
};

/// Runs `body` in a child, whose stderr is read to its end.
ChildEnd in_child(const std::function<void()>& body) {
  std::array<int, 2> pipe_ends = {};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    std::signal(SIGQUIT, SIG_DFL);
    body();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  ChildEnd end;
  std::array<char, 4096> bytes = {};
  for (ssize_t count = 0; (count = ::read(pipe_ends[0], bytes.data(), bytes.size())) > 0;)
    end.error.append(bytes.data(), static_cast<size_t>(count));
  ::close(pipe_ends[0]);
  REQUIRE(::waitpid(pid, &end.status, 0) == pid);
  return end;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("SIGQUIT writes the operation that the thread is in, and its stack, and ends nothing") {
  const ChildEnd end = in_child([] {
    install_stack_dump();
    const OperationMark mark(OperationKind::all_reduce, "gra\x1b dients");
    std::raise(SIGQUIT);
  });
  CHECK(end.status == 0);
  CHECK_MESSAGE(contains(end.error, " is in all_reduce \"gra? dients\"\n"), end.error);
  CHECK(contains(end.error, "libdtrain: stack of thread "));
  CHECK(contains(end.error, "libc.so"));
}

TEST_CASE("an operation that has ended is shown as the last one, each thread on its line") {
  const ChildEnd end = in_child([] {
    install_stack_dump();
    { const OperationMark first(OperationKind::broadcast, "a longer name"); }
    { const OperationMark second(OperationKind::barrier, "b"); }
    std::thread other([] { const OperationMark mark(OperationKind::send, std::string(100, 'x')); });
    other.join();
    std::raise(SIGQUIT);
  });
  CHECK(end.status == 0);
  CHECK_MESSAGE(contains(end.error, " has returned from barrier \"b\"\n"), end.error);
  CHECK(contains(end.error, " has returned from send \"" + std::string(64, 'x') + "\"\n"));
  CHECK(!contains(end.error, "broadcast"));
}

TEST_CASE("a handler of the program stays; an inherited SIG_IGN does not") {
  const ChildEnd own = in_child([] {
    std::signal(SIGQUIT, [](int) { ::_exit(7); });
    install_stack_dump();
    std::raise(SIGQUIT);
  });
  CHECK(WEXITSTATUS(own.status) == 7);
  CHECK(own.error.empty());
  const ChildEnd ignored = in_child([] {
    std::signal(SIGQUIT, SIG_IGN);
    install_stack_dump();
    std::raise(SIGQUIT);
  });
  CHECK(ignored.status == 0);
  CHECK(contains(ignored.error, "libdtrain: stack of thread "));
}

TEST_CASE("without the handler no operation is noted, and SIGQUIT ends the process") {
  const ChildEnd end = in_child([] {
    const OperationMark mark(OperationKind::all_reduce, "x");
    std::raise(SIGQUIT);
  });
  CHECK(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGQUIT);
  CHECK(end.error.empty());
}

}  // namespace
}  // namespace dt
