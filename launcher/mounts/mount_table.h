#pragma once

#include "base/result.h"
#include "launcher/config/mounts/mount.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A line of /proc/self/mountinfo.
struct MountEntry {
  uint64_t id = 0;
  std::string root;    ///< the folder of the file system that is seen
  std::string place;   ///< where
  std::string type;    ///< of the file system: "nfs4"
  std::string source;  ///< "server:/export"
  bool operator==(const MountEntry&) const = default;
};

/// The mounts that a process sees, in the order of the kernel: a later one hides an earlier one.
using MountTable = std::vector<MountEntry>;

/// Reads the text of mountinfo. Leaves out lines of another form.
MountTable parse_mount_table(std::string_view text);

/// Reads the mounts of this process. Fails with Errc::os where there is no /proc.
Result<MountTable> own_mount_table();

/// Returns the folder where the path of an export lies; none: no mount has it.
std::optional<std::string> place_of_export(const MountTable& table, const NfsExport& wanted);

/// Returns the places of mounts at a folder and below it, the folder itself first.
std::vector<std::string> places_below(const MountTable& table, const std::string& folder);

/// True for a mount at exactly this folder.
bool is_mounted_at(const MountTable& table, std::string_view folder);

}  // namespace dt
