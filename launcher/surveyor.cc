#include "launcher/surveyor.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/environment.h"
#include "launcher/message.h"
#include "launcher/own_host.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace dt {

namespace {

VisibleVariables own_visible_variables() {
  const Environment own = parse_environment(own_environment());
  const auto variable = [&own](const char* name) -> std::optional<std::string> {
    const auto at = own.find(name);
    return at == own.end() ? std::nullopt : std::optional(at->second);
  };
  return {.cuda = variable("CUDA_VISIBLE_DEVICES"), .nvidia = variable("NVIDIA_VISIBLE_DEVICES")};
}

/// In the process that asks: keeps the pipe alone, lists the GPUs into it, and is gone. Nothing
/// that the agent has built is destroyed here.
[[noreturn]] void be_asker(int pipe, pid_t agent) {
  constexpr int kept = STDERR_FILENO + 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The agent has blocked those that it takes by descriptor; we end by them.
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  // It may have ended before the line above; then nobody would ever end us.
  if (getppid() != agent || dup2(pipe, kept) < 0) _exit(1);
  close_range(kept + 1, ~0U, 0);
  // What a library prints must not get onto the agent's link.
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (dup2(null.get(), STDIN_FILENO) < 0 || dup2(null.get(), STDOUT_FILENO) < 0) _exit(1);
  HostSurvey survey;
  if (auto list = list_gpus()) {
    survey.gpus = *std::move(list);
  } else {
    survey.gpu_failure = list.error().message;
    survey.has_driver = list.error().code != Errc::not_found;
  }
  _exit(write_all(kept, encode(survey)) ? 0 : 1);
}

}  // namespace

Result<std::unique_ptr<Surveyor>> Surveyor::start(Loop& loop, const Survey& wanted, Done on_done) {
  std::unique_ptr<Surveyor> surveyor(new Surveyor(loop, std::move(on_done)));
  surveyor->survey_.topology = TRY(own_topology());
  surveyor->survey_.visible = own_visible_variables();
  if (wanted.gpus) {
    TRY(surveyor->ask_driver(wanted.patience));
  } else {
    surveyor->deadline_ = loop.after(Duration::zero(), [&it = *surveyor] { it.finish(""); });
  }
  return surveyor;
}

Result<> Surveyor::ask_driver(Duration patience) {
  Pipe pipe = TRY(make_pipe());
  const pid_t agent = getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) be_asker(pipe.write.get(), agent);
  // No race: its agent collects it in a later round of the loop. glibc 2.34 has no such function.
  asker_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pipe_ = std::move(pipe.read);
  TRY(set_nonblocking(pipe_.get()));
  watch_ = TRY(loop_.watch(pipe_.get(), EPOLLIN, [this](uint32_t) { read_answer(); }));
  deadline_ = loop_.after(patience, [this, patience] {
    finish(format("cannot list GPUs: NVIDIA's driver has not answered for {}; see nvidia-smi",
                  duration_text(patience)));
  });
  return {};
}

void Surveyor::read_answer() {
  std::array<std::byte, 4096> buffer;
  const ssize_t n = ::read(pipe_.get(), buffer.data(), buffer.size());
  if (n > 0) {
    answer_.insert(answer_.end(), buffer.begin(), buffer.begin() + n);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    finish("cannot list GPUs: what asked NVIDIA's driver has ended without a word; see nvidia-smi");
  }
}

void Surveyor::finish(const std::string& failure) {
  watch_ = Watch();
  deadline_ = Timer();
  kill_asker();
  survey_.gpu_failure = failure;
  if (auto said = decode<HostSurvey>(answer_)) {
    survey_.gpus = std::move(said->gpus);
    survey_.gpu_failure = std::move(said->gpu_failure);
    survey_.has_driver = said->has_driver;
  }
  on_done_(survey_);
}

void Surveyor::kill_asker() const {
  if (asker_) ::syscall(SYS_pidfd_send_signal, asker_.get(), SIGKILL, nullptr, 0);
}

}  // namespace dt
