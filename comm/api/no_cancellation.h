#pragma once

#include <pthread.h>

namespace dt {

/// Defers pthread_cancel of this thread to the end of the scope. A cancelled thread unwinds from
/// any wait, which would leave the engine in the middle of a step.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace dt
