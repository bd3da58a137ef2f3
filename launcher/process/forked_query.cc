#include "launcher/process/forked_query.h"

#include "launcher/process/pidfd.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

namespace dt {

namespace {

/// Before each answer: its size. The exit status would not do, since reap_strangers() collects it.
using AnswerSize = uint64_t;

/// Writes the answer into the pipe, and exits. It uses _exit(2), so that no destructor of the
/// parent's objects runs here.
[[noreturn]] void answer_in_fork(int pipe, pid_t parent, const ForkedQuery::Question& question) {
  constexpr int kept = first_kept_descriptor;
  enter_fork(parent, {pipe});
  const Bytes answer = question();
  const Bytes size = Writer().number(AnswerSize{answer.size()}).take();
  _exit(write_all(kept, size) && write_all(kept, answer) ? 0 : 1);
}

}  // namespace

void enter_fork(pid_t parent, const std::vector<int>& kept) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent blocks the signals that it reads from a signalfd; here they must end the process.
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  // If the parent ended before prctl, no death signal would ever come.
  if (getppid() != parent) _exit(1);
  // First above all of them: a number of the target may be one that is still to be moved.
  const int above = 1 + std::max(first_kept_descriptor + static_cast<int>(kept.size()),
                                 *std::ranges::max_element(kept));
  int next = above;
  for (const int descriptor : kept) {
    if (dup2(descriptor, next++) < 0) _exit(1);
  }
  for (int at = 0; at < static_cast<int>(kept.size()); ++at) {
    if (dup2(above + at, first_kept_descriptor + at) < 0) _exit(1);
  }
  close_range(static_cast<unsigned>(first_kept_descriptor) + static_cast<unsigned>(kept.size()),
              ~0U, 0);
  // An agent's stdout is its link to the launcher: output of a library must not get into it.
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (dup2(null.get(), STDIN_FILENO) < 0 || dup2(null.get(), STDOUT_FILENO) < 0) _exit(1);
}

Result<std::unique_ptr<ForkedQuery>> ForkedQuery::start(Loop& loop, const Question& question,
                                                        Duration patience, Done on_done) {
  Pipe pipe = TRY(make_pipe());
  const pid_t parent = getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) answer_in_fork(pipe.write.get(), parent, question);
  std::unique_ptr<ForkedQuery> query(new ForkedQuery(std::move(on_done)));
  query->pid_ = pid;
  // No race: a later round of the loop collects the status, so the pid is still this fork's.
  query->process_ = open_pidfd(pid);
  query->pipe_ = std::move(pipe.read);
  TRY(set_nonblocking(query->pipe_.get()));
  const auto readable = [&it = *query](uint32_t) { it.read_answer(); };
  query->watch_ = TRY(loop.watch(query->pipe_.get(), EPOLLIN, readable));
  query->deadline_ = loop.after(patience, [&it = *query] { it.finish(End::late); });
  return query;
}

void ForkedQuery::kill() const {
  if (process_) signal_pidfd(process_.get(), SIGKILL);
}

void ForkedQuery::read_answer() {
  std::array<std::byte, 4096> buffer;
  const ssize_t n = ::read(pipe_.get(), buffer.data(), buffer.size());
  if (n > 0) {
    received_.insert(received_.end(), buffer.begin(), buffer.begin() + n);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    pipe_ended();
  }
}

void ForkedQuery::pipe_ended() {
  if (received_.empty()) return finish(End::silent);
  Reader reader(received_);
  const auto size = reader.number<AnswerSize>();
  if (received_.size() != sizeof size + size) return finish(End::cut);
  received_.erase(received_.begin(), received_.begin() + sizeof size);
  finish(End::answered);
}

void ForkedQuery::finish(End end) {
  watch_ = Watch();
  deadline_ = Timer();
  kill();
  // The callback may destroy this object.
  const Done on_done = std::exchange(on_done_, nullptr);
  on_done({.end = end, .bytes = end == End::answered ? std::move(received_) : Bytes()});
}

}  // namespace dt
