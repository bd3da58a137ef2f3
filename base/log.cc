#include "base/log.h"

#include "base/bytes.h"
#include "base/fd.h"
#include "base/text.h"

#include <unistd.h>

namespace dt {

void Log::line(const std::string& text) {
  std::string all;
  for (const std::string_view part : split(text, '\n')) {
    all += "dtrain: ";
    all += part;
    all += '\n';
  }
  sink_(all);
}

void write_to_stderr(std::string_view line) {
  // Nothing can be told to anybody when stderr itself fails.
  if (const auto written = write_all(STDERR_FILENO, as_bytes(line)); !written) return;
}

}  // namespace dt
