#include "base/io/signals.h"

#include "base/format.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dt {

struct Signals::State {
  sigset_t taken;
  sigset_t before;
  Fd fd;
  Watch watch;
  std::function<void(int)> on_signal;
};

Result<std::unique_ptr<Signals>> Signals::block(Loop& loop, const std::vector<int>& numbers,
                                                std::function<void(int)> on_signal) {
  std::unique_ptr<Signals> signals(new Signals);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : numbers) {
    struct sigaction current = {};
    sigaction(number, nullptr, &current);
    if (current.sa_handler != SIG_IGN) sigaddset(&wanted, number);
  }
  auto state = std::make_unique<State>();
  pthread_sigmask(SIG_BLOCK, &wanted, &state->before);
  state->taken = wanted;
  state->on_signal = std::move(on_signal);
  state->fd = Fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  signals->state_ = std::move(state);
  State& self = *signals->state_;
  if (!self.fd) return fail_errno("cannot receive signals");
  self.watch = TRY(loop.watch(self.fd.get(), EPOLLIN, [&self](uint32_t) {
    signalfd_siginfo info;
    if (::read(self.fd.get(), &info, sizeof info) != sizeof info) return;
    // A copy: the handler may destroy the original.
    const auto handler = self.on_signal;
    handler(static_cast<int>(info.ssi_signo));
  }));
  return signals;
}

Signals::~Signals() {
  if (!state_) return;
  // Consumes signals that arrived and were not handled: they must not be delivered when the old
  // mask returns.
  constexpr timespec no_time = {};
  while (sigtimedwait(&state_->taken, nullptr, &no_time) > 0 || errno == EINTR)
    continue;
  pthread_sigmask(SIG_SETMASK, &state_->before, nullptr);
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? format("SIG{}", name) : format("signal {}", number);
}

}  // namespace dt
