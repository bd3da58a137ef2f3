#include "launcher/process/exit_status.h"

#include "base/format.h"
#include "base/io/signals.h"

namespace dt {

std::string ExitStatus::text() const {
  if (signal == 0) return format("exit status {}", code);
  const std::string killed = format("killed by {}", signal_name(signal));
  return out_of_memory ? killed + " (the kernel's OOM killer: out of memory)" : killed;
}

int exit_status_of(Errc code) {
  switch (code) {
    case Errc::input:
      return 2;
    case Errc::not_found:
      return 127;
    case Errc::not_runnable:
      return 126;
    case Errc::refused:
      return 4;
    default:
      return 3;
  }
}

}  // namespace dt
