#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <string>

namespace dt {

// The kernel's part of mounts. A mount that a process makes in a namespace of its own is seen by
// its children, and ends with the last of them, whatever ends them.

/// Moves this process, which has one thread, into a new mount namespace. Later mounts of the host
/// still arrive there. Returns false where the process may not do that: it is not root. Fails with
/// Errc::unsupported where root may not, in a container for example.
Result<bool> enter_root_namespace();

/// The same for any user, within a new user namespace. There the process keeps its user and group,
/// and owns no others: files of others look like those of nobody. Fails with Errc::unsupported
/// where the host does not allow it.
Result<> enter_user_namespace();

/// A folder with all that is mounted below it, which can be mounted elsewhere. It stays the same
/// when a later mount hides it.
class HeldFolder {
 public:
  /// The newer calls of Linux 5.2 copy the mount; older kernels look the folder up again.
  enum class Calls : bool { newer, older };
  /// Requires enter_root_namespace() or enter_user_namespace().
  static Result<HeldFolder> open(const std::string& path, Calls calls = Calls::newer);
  /// Mounts it at a folder.
  Result<> mount_at(const std::string& target);

 private:
  HeldFolder(Fd fd, bool is_copy) : fd_(std::move(fd)), is_copy_(is_copy) {}
  Fd fd_;
  bool is_copy_;
};

/// Makes a mount read-only, with all mounts below it.
Result<> make_read_only(const std::string& target);
/// The same on kernels before 5.12, one mount after the other.
Result<> remount_read_only(const std::string& target);

/// Fails with Errc::os if a mount at or below the folder can be written.
Result<> check_read_only(const std::string& target);

}  // namespace dt
