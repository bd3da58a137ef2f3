#include "comm/training/strategy/placement_log.h"

#include <unistd.h>

namespace dt {

void PlacementLog::add(const std::string& sentence) {
  text_ += sentence + "\n";
  if (prefix_.empty()) return;
  const std::string line = prefix_ + ": " + sentence + "\n";
  // Without a reader, the program continues without the log.
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

}  // namespace dt
