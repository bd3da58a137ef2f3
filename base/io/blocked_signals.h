#pragma once

#include <pthread.h>
#include <signal.h>

namespace dt {

/// While it lives, its thread receives no signals. Threads that it starts receive none either.
class BlockedSignals {
 public:
  BlockedSignals() : before_{} {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace dt
