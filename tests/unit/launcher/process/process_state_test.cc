#include "launcher/process/process_state.h"

#include <doctest/doctest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

namespace dt {
namespace {

/// A child that reads from a pipe until this object ends.
class ReadingChild {
 public:
  ReadingChild() {
    REQUIRE(pipe(pipe_.data()) == 0);
    pid_ = fork();
    if (pid_ != 0) return;
    char byte = 0;
    ::close(pipe_[1]);
    while (::read(pipe_[0], &byte, 1) > 0) {
    }
    _exit(0);
  }
  ReadingChild(const ReadingChild&) = delete;
  ReadingChild& operator=(const ReadingChild&) = delete;
  ~ReadingChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  pid_t pid() const { return pid_; }
  /// Sends the signal, and waits until it has taken effect.
  void change_by(int signal, int wait_option) const {
    REQUIRE(::kill(pid_, signal) == 0);
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, wait_option) == pid_);
  }

 private:
  std::array<int, 2> pipe_ = {};
  pid_t pid_ = 0;
};

TEST_CASE("the state of a process is read from its kernel") {
  CHECK(read_process_state(getpid()).letter == 'R');
  CHECK(read_process_state(getpid()).pid == getpid());
  const ReadingChild child;
  child.change_by(SIGSTOP, WUNTRACED);
  CHECK(read_process_state(child.pid()).letter == 'T');
  CHECK(read_process_state(child.pid()).stopped());
  child.change_by(SIGCONT, WCONTINUED);
  CHECK(!read_process_state(child.pid()).stopped());
  REQUIRE(::kill(child.pid(), SIGKILL) == 0);
  siginfo_t info = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT) == 0);
  CHECK(read_process_state(child.pid()).letter == 'Z');
}

TEST_CASE("the name of a process may contain blanks, brackets and line ends") {
  char before[16] = {};
  REQUIRE(::prctl(PR_GET_NAME, before) == 0);
  REQUIRE(::prctl(PR_SET_NAME, "a) R 1 (\nb") == 0);
  const std::optional<ProcessStat> own = read_process_stat(getpid());
  REQUIRE(::prctl(PR_SET_NAME, before) == 0);
  REQUIRE(own);
  CHECK(own->name == "a) R 1 (\nb");
  CHECK(own->letter == 'R');
  CHECK(!own->ended());
  CHECK(own->parent == getppid());
  CHECK(!read_process_stat(0));
}

TEST_CASE("a process that is not there has no pid") {
  CHECK(read_process_state(0) == ProcessState());
  CHECK(read_process_state(-1) == ProcessState());
}

TEST_CASE("a state in words names where the process waits") {
  CHECK(ProcessState{1, 'S', "pipe_read"}.text() == "sleeps (in pipe_read)");
  CHECK(ProcessState{1, 'S', ""}.text() == "sleeps");
  CHECK(ProcessState{1, 'D', "nfs_wait"}.text() ==
        "waits in the kernel and cannot be killed (in nfs_wait)");
  CHECK(ProcessState{1, 'T', "do_signal_stop"}.text() == "is stopped by a signal");
  CHECK(ProcessState{1, 'S', "\x1b[1m"}.text() == "sleeps (in \\x1B[1m)");
  CHECK(ProcessState{1, '!', ""}.text() == "is in an unknown state");
  CHECK(ProcessState{1, 'T', ""}.word() == "stopped");
  CHECK(ProcessState{1, 'D', ""}.word() == "uninterruptible");
  CHECK(ProcessState{1, '!', ""}.word() == "unknown");
}

TEST_CASE("a process catches the signals that it has handlers for") {
  const ReadingChild child;
  CHECK_FALSE(catches_signal(child.pid(), SIGUSR2));
  CHECK_FALSE(catches_signal(0, SIGUSR2));
  struct sigaction before = {};
  struct sigaction ours = {};
  ours.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGUSR2, &ours, &before) == 0);
  CHECK(catches_signal(getpid(), SIGUSR2));
  CHECK_FALSE(catches_signal(getpid(), SIGUSR2 + 1));
  ours.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGUSR2, &ours, nullptr) == 0);
  CHECK_FALSE(catches_signal(getpid(), SIGUSR2));
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST_CASE("a process is within itself and its ancestors only") {
  const ReadingChild child;
  CHECK(is_within(child.pid(), child.pid()));
  CHECK(is_within(child.pid(), getpid()));
  CHECK(is_within(child.pid(), getppid()));
  CHECK(!is_within(getpid(), child.pid()));
  CHECK(!is_within(0, getpid()));
  CHECK(!is_within(-5, getpid()));
}

}  // namespace
}  // namespace dt
