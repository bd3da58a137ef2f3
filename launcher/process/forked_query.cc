#include "launcher/process/forked_query.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace dt {

namespace {

/// In the process that asks: keeps the pipe alone, writes the answer into it, and is gone. Nothing
/// that its parent has built is destroyed here.
[[noreturn]] void be_asker(int pipe, pid_t parent, const ForkedQuery::Question& question) {
  constexpr int kept = STDERR_FILENO + 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent has blocked those that it takes by descriptor; we end by them.
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  // It may have ended before the line above; then nobody would ever end us.
  if (getppid() != parent || dup2(pipe, kept) < 0) _exit(1);
  close_range(kept + 1, ~0U, 0);
  // What a library prints must not get onto an agent's link.
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (dup2(null.get(), STDIN_FILENO) < 0 || dup2(null.get(), STDOUT_FILENO) < 0) _exit(1);
  _exit(write_all(kept, question()) ? 0 : 1);
}

}  // namespace

Result<std::unique_ptr<ForkedQuery>> ForkedQuery::start(Loop& loop, const Question& question,
                                                        Duration patience, Done on_done) {
  Pipe pipe = TRY(make_pipe());
  const pid_t parent = getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) be_asker(pipe.write.get(), parent, question);
  std::unique_ptr<ForkedQuery> asker(new ForkedQuery(loop, std::move(on_done)));
  asker->pid_ = pid;
  // No race: it is collected in a later round of the loop. glibc 2.34 has no such function.
  asker->process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  asker->pipe_ = std::move(pipe.read);
  TRY(set_nonblocking(asker->pipe_.get()));
  const auto readable = [&it = *asker](uint32_t) { it.read_answer(); };
  asker->watch_ = TRY(loop.watch(asker->pipe_.get(), EPOLLIN, readable));
  asker->deadline_ = loop.after(patience, [&it = *asker] { it.finish(End::late); });
  return asker;
}

void ForkedQuery::kill() const {
  if (process_) ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
}

void ForkedQuery::read_answer() {
  std::array<std::byte, 4096> buffer;
  const ssize_t n = ::read(pipe_.get(), buffer.data(), buffer.size());
  if (n > 0) {
    answer_.insert(answer_.end(), buffer.begin(), buffer.begin() + n);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    finish(answer_.empty() ? End::silent : End::answered);
  }
}

void ForkedQuery::finish(End end) {
  watch_ = Watch();
  deadline_ = Timer();
  kill();
  // What is called may destroy us.
  const Done on_done = std::exchange(on_done_, nullptr);
  on_done({.end = end, .bytes = std::move(answer_)});
}

}  // namespace dt
