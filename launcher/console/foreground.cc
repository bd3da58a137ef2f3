#include "launcher/console/foreground.h"

#include <unistd.h>

namespace dt {

bool in_background(int terminal) {
  // A group outside our PID namespace has the number 0. In a container that shares the terminal of
  // its caller, that is the foreground, and mostly our own group, too. If ours has a number, it is
  // in the background, and the kernel stops it.
  const pid_t foreground = ::tcgetpgrp(terminal);
  return foreground >= 0 && foreground != ::getpgrp();
}

}  // namespace dt
