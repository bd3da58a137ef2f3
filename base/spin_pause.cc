#include "base/spin_pause.h"

namespace dt {

void spin_pause() {
  asm volatile(DTRAIN_SPIN_PAUSE ::: "memory");
}

}  // namespace dt
