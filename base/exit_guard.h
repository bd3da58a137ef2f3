#pragma once

#include <memory>
#include <mutex>

namespace dt {

/// Keeps work that needs OpenSSL's algorithms away from the end of the process. There, exit(3) runs
/// OpenSSL's clean-up while other threads work on.
class ExitGuard {
 public:
  /// Called after OpenSSL's first use, because functions of atexit(3) run in reverse order.
  ExitGuard();

  /// Returns a lock for which exit(3) waits. It is not owned once exit(3) has begun.
  std::unique_lock<std::mutex> enter() const;

 private:
  struct State {
    std::mutex mutex;
    bool exiting = false;
  };
  static void exit_begins(void* state);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace dt
