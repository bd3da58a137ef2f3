#include "launcher/sync/server/shared_folders.h"

namespace dt {

void SharedFolders::add(uint32_t host, const std::string& marker) {
  hosts_.emplace(marker, host);
  groups_.emplace(host, host);
}

void SharedFolders::see(uint32_t host, const std::vector<std::string>& markers) {
  for (const std::string& marker : markers) {
    const auto seen = hosts_.find(marker);
    if (seen != hosts_.end()) join(host, seen->second);
  }
}

void SharedFolders::join(uint32_t one, uint32_t other) {
  const uint32_t from = groups_.at(one);
  const uint32_t to = groups_.at(other);
  if (from == to) return;
  for (auto& [host, group] : groups_)
    if (group == from) group = to;
}

}  // namespace dt
