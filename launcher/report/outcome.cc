#include "launcher/report/outcome.h"

#include "base/format.h"
#include "base/io/signals.h"

namespace dt {

Outcome interrupted_outcome(int number) {
  return {.exit_status = 128 + number, .reason = "interrupted by " + signal_name(number)};
}

}  // namespace dt
