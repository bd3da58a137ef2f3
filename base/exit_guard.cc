#include "base/exit_guard.h"

#include <cxxabi.h>

// Names this library or program, so that the function also runs when dlclose(3) removes it.
extern "C" void*
    __dso_handle;  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

namespace dt {

ExitGuard::ExitGuard() {
  auto state = std::make_unique<std::shared_ptr<State>>(state_);
  // atexit(3) has no argument. The process keeps the state until it ends.
  auto* const library = reinterpret_cast<void*>(&__dso_handle);
  if (abi::__cxa_atexit(exit_begins, state.get(), library) != 0) return;
  [[maybe_unused]] const auto* const kept = state.release();
}

std::unique_lock<std::mutex> ExitGuard::enter() const {
  std::unique_lock lock(state_->mutex);
  if (state_->exiting) lock.unlock();
  return lock;
}

void ExitGuard::exit_begins(void* state) {
  const std::unique_ptr<std::shared_ptr<State>> owned(static_cast<std::shared_ptr<State>*>(state));
  const std::scoped_lock lock((*owned)->mutex);
  (*owned)->exiting = true;
}

}  // namespace dt
