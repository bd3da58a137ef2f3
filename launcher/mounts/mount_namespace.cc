#include "launcher/mounts/mount_namespace.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/mounts/mount_calls.h"
#include "launcher/mounts/mount_table.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace dt {
namespace {

/// Mounts of this namespace do not reach the host; those of the host still arrive.
Result<> follow_the_host() {
  if (::mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0) return {};
  return fail(Errc::unsupported, format("this host refuses mounts ({})", errno_text(errno)));
}

/// True for a call that the kernel does not have, or that a container's filter refuses as unknown.
bool is_unknown_call(int error) {
  return error == ENOSYS || error == EPERM;
}

Result<> write_own_file(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fail_errno(format("cannot open {}", path));
  return write_all(file.get(), as_bytes(text));
}

/// Returns the error with the settings that a host may have.
tl::unexpected<Error> no_user_namespace(const std::string& why) {
  return fail(Errc::unsupported,
              format("only root can mount on this host: it refuses user namespaces ({}); see the "
                     "settings user.max_user_namespaces, kernel.unprivileged_userns_clone and "
                     "kernel.apparmor_restrict_unprivileged_userns of sysctl",
                     why));
}

Result<> map_own_user() {
  const unsigned user = ::getuid();
  const unsigned group = ::getgid();
  // The kernel requires it before a group is mapped. Kernels without the file do not.
  if (::access("/proc/self/setgroups", F_OK) == 0)
    TRY(write_own_file("/proc/self/setgroups", "deny"));
  TRY(write_own_file("/proc/self/uid_map", format("{0} {0} 1", user)));
  return write_own_file("/proc/self/gid_map", format("{0} {0} 1", group));
}

/// Returns the path as mountinfo has it.
Result<std::string> real_path(const std::string& path) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  if (failed) return fail_errno(format("cannot find {}", printable(path)), failed.value());
  return real.string();
}

/// Returns the flags of mount(2) for those of statvfs(3). A user namespace may not take them off.
unsigned long kept_flags(unsigned long flags) {
  constexpr std::array<std::array<unsigned long, 2>, 6> pairs = {{{ST_NOSUID, MS_NOSUID},
                                                                  {ST_NODEV, MS_NODEV},
                                                                  {ST_NOEXEC, MS_NOEXEC},
                                                                  {ST_NOATIME, MS_NOATIME},
                                                                  {ST_NODIRATIME, MS_NODIRATIME},
                                                                  {ST_RELATIME, MS_RELATIME}}};
  unsigned long kept = 0;
  for (const auto& [from, to] : pairs)
    if ((flags & from) != 0) kept |= to;
  return kept;
}

Result<std::vector<std::string>> own_places_below(const std::string& target) {
  const std::string real = TRY(real_path(target));
  const MountTable table = TRY(own_mount_table());
  return places_below(table, real);
}

}  // namespace

Result<bool> enter_root_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) {
    if (errno == EPERM || errno == ENOSYS) return false;
    return fail_errno("cannot make a mount namespace");
  }
  TRY(follow_the_host());
  return true;
}

Result<> enter_user_namespace() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return no_user_namespace(errno_text(errno));
  if (const auto mapped = map_own_user(); !mapped) return no_user_namespace(mapped.error().message);
  if (const auto apart = follow_the_host(); !apart) return no_user_namespace(apart.error().message);
  return {};
}

Result<HeldFolder> HeldFolder::open(const std::string& path, Calls calls) {
  if (calls == Calls::newer) {
    Fd copy = copy_mounts(path);
    if (copy) return HeldFolder(std::move(copy), true);
    if (!is_unknown_call(errno))
      return fail_errno(format("cannot take the mounts at {}", printable(path)));
  }
  Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno(format("cannot open {}", printable(path)));
  return HeldFolder(std::move(folder), false);
}

Result<> HeldFolder::mount_at(const std::string& target) {
  const std::string own = format("/proc/self/fd/{}", fd_.get());
  const bool done =
      is_copy_ ? attach_mounts(fd_.get(), target)
               : ::mount(own.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
  if (!done) return fail_errno(format("cannot mount at {}", printable(target)));
  fd_.reset();
  return {};
}

Result<> make_read_only(const std::string& target) {
  if (set_read_only(target)) return {};
  if (is_unknown_call(errno)) return remount_read_only(target);
  return fail_errno(format("cannot make the mount at {} read-only", printable(target)));
}

Result<> remount_read_only(const std::string& target) {
  const std::vector<std::string> places = TRY(own_places_below(target));
  for (const std::string& place : places) {
    struct statvfs about = {};
    if (::statvfs(place.c_str(), &about) != 0) continue;  // check_read_only() sees it again
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | kept_flags(about.f_flag);
    if (::mount(nullptr, place.c_str(), nullptr, flags, nullptr) != 0)
      return fail_errno(format("cannot make the mount at {} read-only", printable(place)));
  }
  return {};
}

Result<> check_read_only(const std::string& target) {
  const std::vector<std::string> places = TRY(own_places_below(target));
  for (const std::string& place : places) {
    struct statvfs about = {};
    if (::statvfs(place.c_str(), &about) != 0) {
      // Nobody can write what cannot be reached: another mount hides it, or a right is missing.
      if (place != places.front() && (errno == ENOENT || errno == EACCES)) continue;
      return fail_errno(format("cannot check that {} is read-only", printable(place)));
    }
    if ((about.f_flag & ST_RDONLY) == 0)
      return fail(Errc::os, format("{} could not be made read-only", printable(place)));
  }
  return {};
}

}  // namespace dt
