#include "launcher/mounts/mount_calls.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace dt {
namespace {

// The same numbers on all processors; headers of older kernels do not have them.
constexpr long open_tree_number = 428;
constexpr long move_mount_number = 429;
constexpr long mount_setattr_number = 442;

constexpr unsigned clone_tree = 1;
constexpr unsigned recursive = 0x8000;
constexpr unsigned from_empty_path = 0x04;
constexpr unsigned to_link = 0x10;  // the target may be a symbolic link
constexpr uint64_t read_only_attribute = 1;

/// The kernel's struct mount_attr.
struct MountAttributes {
  uint64_t set = 0;
  uint64_t cleared = 0;
  uint64_t propagation = 0;
  uint64_t user_namespace = 0;
};

}  // namespace

Fd copy_mounts(const std::string& folder) {
  const long fd = ::syscall(open_tree_number, AT_FDCWD, folder.c_str(),
                            clone_tree | recursive | static_cast<unsigned>(O_CLOEXEC));
  return Fd(static_cast<int>(fd));
}

bool attach_mounts(int copy, const std::string& target) {
  return ::syscall(move_mount_number, copy, "", AT_FDCWD, target.c_str(),
                   from_empty_path | to_link) == 0;
}

bool set_read_only(const std::string& target) {
  const MountAttributes wanted = {.set = read_only_attribute};
  return ::syscall(mount_setattr_number, AT_FDCWD, target.c_str(), recursive, &wanted,
                   sizeof wanted) == 0;
}

bool pivot_root(const std::string& folder, const std::string& old) {
  return ::syscall(SYS_pivot_root, folder.c_str(), old.c_str()) == 0;
}

}  // namespace dt
