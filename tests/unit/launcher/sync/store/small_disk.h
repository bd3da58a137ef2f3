#pragma once

#include "tests/unit/temporary_folder.h"

#include <sys/mount.h>
#include <unistd.h>

#include <string>

namespace dt {

/// A file system of some KiB in memory. Only root can have one, and not in every container: `there`
/// is false elsewhere, and tests return.
class SmallDisk {
 public:
  explicit SmallDisk(int kib) {
    const std::string size = "size=" + std::to_string(kib) + "k";
    there_ = ::geteuid() == 0 &&
             ::mount("none", folder_.path().c_str(), "tmpfs", MS_NOSUID, size.c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (there_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }

  bool there() const { return there_; }
  const std::string& path() const { return folder_.path(); }
  /// Mounts it again, such as with MS_RDONLY or MS_NOEXEC.
  bool remount(unsigned long flags) const {
    return ::mount("none", path().c_str(), "tmpfs", MS_REMOUNT | flags, nullptr) == 0;
  }

 private:
  TemporaryFolder folder_;
  bool there_ = false;
};

}  // namespace dt
