#include "launcher/process/oom.h"

#include "base/text.h"

#include <unistd.h>

#include <fstream>

namespace dt {

namespace {

/// The file of our memory cgroup that counts OOM kills. A line of /proc/self/cgroup is
/// "id:controllers:path"; v2 has id 0 and no controllers.
std::string find_file() {
  std::ifstream cgroups("/proc/self/cgroup");
  std::string line;
  while (std::getline(cgroups, line)) {
    const std::vector<std::string_view> parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::string path(parts[2]);
    const bool v1 = parts[1] == "memory";
    if (!v1 && !parts[1].empty()) continue;
    std::string file = v1 ? "/sys/fs/cgroup/memory" + path + "/memory.oom_control"
                          : "/sys/fs/cgroup" + path + "/memory.events";
    if (::access(file.c_str(), R_OK) == 0) return file;
  }
  return {};
}

}  // namespace

OomCounter::OomCounter() : file_(find_file()), seen_(count()) {
}

bool OomCounter::take_kill() {
  if (count() <= seen_) return false;
  ++seen_;
  return true;
}

uint64_t OomCounter::count() const {
  std::ifstream events(file_);
  std::string word;
  uint64_t value = 0;
  while (events >> word >> value) {
    if (word == "oom_kill") return value;
  }
  return 0;
}

}  // namespace dt
