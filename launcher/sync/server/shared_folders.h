#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt {

/// Which hosts share a folder, found by the markers that they see there. Pure.
class SharedFolders {
 public:
  /// A host with a new id has put this marker into its folder.
  void add(uint32_t host, const std::string& marker);
  /// The host sees these markers in its folder. Others are ignored than those that were added.
  void see(uint32_t host, const std::vector<std::string>& markers);
  /// Returns a number that is the same for all hosts that share the folder, until the next see().
  uint32_t group(uint32_t host) const { return groups_.at(host); }

 private:
  void join(uint32_t one, uint32_t other);

  std::unordered_map<std::string, uint32_t> hosts_;  ///< by marker
  std::map<uint32_t, uint32_t> groups_;  ///< by host: the id of one host that shares its folder
};

}  // namespace dt
