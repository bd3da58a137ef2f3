#include "launcher/mounts/missing_folders.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/mounts/mount_calls.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dt {
namespace {

namespace files = std::filesystem;

constexpr const char* memory_options = "mode=0755,size=4m";
/// The names of folders that exist for a moment. A folder of the host may have neither.
constexpr std::string_view copy_name = ".dtrain-mounts";
constexpr std::string_view old_name = ".dtrain-old";

bool is_folder(const std::string& path) {
  struct stat about = {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

/// Makes an entry of the same kind as `from`, and mounts that there. A link is copied.
Result<> mount_entry(const files::path& from, const files::path& to) {
  struct stat about = {};
  if (::lstat(from.c_str(), &about) != 0) return {};  // it was removed meanwhile
  if (S_ISLNK(about.st_mode)) {
    std::error_code failed;
    files::copy_symlink(from, to, failed);
    if (failed) return fail_errno(format("cannot copy {}", from.string()), failed.value());
    return {};
  }
  if (S_ISDIR(about.st_mode)) {
    if (::mkdir(to.c_str(), S_IRWXU) != 0) return fail_errno(format("mkdir {}", to.string()));
  } else {
    const Fd made(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR));
    if (!made) return fail_errno(format("cannot make {}", to.string()));
  }
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) return {};
  return fail_errno(format("cannot mount {}", to.string()));
}

/// Gives a new folder in memory the entries of the folder that `copy` is of.
Result<> fill(const std::string& memory, const Fd& copy, const struct stat& original) {
  const std::string hidden = format("{}/{}", memory, copy_name);
  if (::mkdir(hidden.c_str(), S_IRWXU) != 0) return fail_errno(format("mkdir {}", hidden));
  if (!attach_mounts(copy.get(), hidden)) return fail_errno(format("cannot mount {}", hidden));
  std::error_code failed;
  size_t entries = 0;
  for (files::directory_iterator at(hidden, failed); !failed && at != files::directory_iterator();
       at.increment(failed)) {
    if (++entries > MissingFolders::entries_max) {
      return fail(Errc::unsupported,
                  format("its folder has more than {} entries", MissingFolders::entries_max));
    }
    TRY(mount_entry(at->path(), files::path(memory) / at->path().filename()));
  }
  if (failed) return fail_errno("cannot list its folder", failed.value());
  if (::umount2(hidden.c_str(), MNT_DETACH) != 0 || ::rmdir(hidden.c_str()) != 0)
    return fail_errno(format("cannot remove {}", hidden));
  if (::chown(memory.c_str(), original.st_uid, original.st_gid) != 0 ||
      ::chmod(memory.c_str(), original.st_mode & 07777U) != 0) {
    return fail_errno(format("cannot set the owner of {}", memory));
  }
  return {};
}

Result<> mount_memory(const std::string& folder) {
  if (::mount("dtrain", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, memory_options) == 0)
    return {};
  return fail_errno(format("cannot cover {}", printable(folder)));
}

Result<> make_path(const std::string& folder) {
  std::error_code failed;
  files::create_directories(folder, failed);
  if (!failed) return {};
  return fail_errno(format("cannot make {}", printable(folder)), failed.value());
}

}  // namespace

bool MissingFolders::is_own(const std::string& folder) const {
  struct stat about = {};
  if (::stat(folder.c_str(), &about) != 0) return false;
  for (const Cover& cover : covers_)
    if (cover.device == about.st_dev) return true;
  return false;
}

Result<> MissingFolders::make(const std::string& folder) {
  files::path nearest = files::path(folder).parent_path();
  std::error_code ignored;
  while (!files::exists(files::symlink_status(nearest, ignored)))
    nearest = nearest.parent_path();
  if (!is_folder(nearest.string())) {
    return fail(Errc::input, format("{} is no folder", printable(nearest.string())));
  }
  if (!is_own(nearest.string())) {
    if (files::equivalent(nearest, kept_, ignored)) {
      return fail(Errc::unsupported,
                  format("tasks may make files in {}", printable(nearest.string())));
    }
    TRY(nearest == "/" ? cover_root() : cover(nearest.string()));
  }
  return make_path(folder);
}

Result<> MissingFolders::cover(const std::string& folder) {
  struct stat original = {};
  if (::stat(folder.c_str(), &original) != 0)
    return fail_errno(format("cannot find {}", printable(folder)));
  if ((original.st_mode & S_ISVTX) != 0) {
    return fail(Errc::unsupported, format("{} is a folder of all users", printable(folder)));
  }
  const Fd copy = copy_mounts(folder);
  if (!copy) return fail_errno(format("cannot take the mounts at {}", printable(folder)));
  TRY(mount_memory(folder));
  TRY(fill(folder, copy, original));
  struct stat about = {};
  if (::stat(folder.c_str(), &about) != 0) return fail_errno("cannot find the new folder");
  covers_.push_back({folder, about.st_dev});
  return {};
}

/// Nothing can be mounted over a root, so a folder in memory becomes the root instead.
Result<> MissingFolders::cover_root() {
  struct stat original = {};
  if (::stat("/", &original) != 0) return fail_errno("cannot find /");
  constexpr std::array<const char*, 4> places = {"/tmp", "/mnt", "/var", "/usr"};
  std::string place;
  for (const char* const one : places)
    if (place.empty() && is_folder(one)) place = one;
  const Fd copy = copy_mounts("/");
  if (!copy) return fail_errno("cannot take the mounts at /");
  TRY(mount_memory(place));
  TRY(fill(place, copy, original));
  const std::string old = format("{}/{}", place, old_name);
  if (::mkdir(old.c_str(), S_IRWXU) != 0) return fail_errno(format("mkdir {}", old));
  if (!pivot_root(place, old)) return fail_errno("cannot change the root of the tasks");
  const std::string left = format("/{}", old_name);
  if (::chdir("/") != 0 || ::umount2(left.c_str(), MNT_DETACH) != 0 || ::rmdir(left.c_str()) != 0)
    return fail_errno("cannot leave the old root");
  struct stat about = {};
  if (::stat("/", &about) != 0) return fail_errno("cannot find the new root");
  covers_.push_back({"/", about.st_dev});
  return {};
}

Result<> MissingFolders::seal() {
  for (const Cover& cover : covers_) {
    constexpr unsigned long flags =
        MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_RELATIME;
    if (::mount(nullptr, cover.folder.c_str(), nullptr, flags, nullptr) != 0)
      return fail_errno(format("cannot protect {}", printable(cover.folder)));
  }
  return {};
}

}  // namespace dt
