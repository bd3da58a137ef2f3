#include "launcher/sync/source/folder_below.h"

#include "base/text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace dt {

namespace {

constexpr int common_flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
constexpr int file_flags = common_flags | O_NONBLOCK | O_NOCTTY;

Fd open_by_parts(int root, const std::string& path, int flags) {
  const std::vector<std::string_view> parts = split(path, '/');
  Fd folder;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int here = folder ? folder.get() : root;
    const int part_flags =
        i + 1 < parts.size() ? O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY : flags;
    if (parts[i].empty() || parts[i] == "..") {
      errno = EXDEV;
      return {};
    }
    folder = Fd(::openat(here, std::string(parts[i]).c_str(), part_flags));
    if (!folder) return {};
  }
  return folder;
}

Fd open_below(const Fd& root, std::string_view path, int flags) {
  const std::string name = path.empty() ? "." : std::string(path);
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Fd opened(static_cast<int>(::syscall(SYS_openat2, root.get(), name.c_str(), &how, sizeof how)));
  if (opened || (errno != ENOSYS && errno != EPERM)) return opened;
  return open_by_parts(root.get(), name, flags);
}

}  // namespace

Result<Fd> open_tree_root(const std::string& path) {
  Fd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_errno("cannot open the folder '" + printable(path) + "'");
  return root;
}

Fd open_file_below(const Fd& root, std::string_view path) {
  return open_below(root, path, file_flags);
}

Fd open_folder_below(const Fd& root, std::string_view path) {
  return open_below(root, path, common_flags | O_DIRECTORY);
}

Fd open_file_by_parts(const Fd& root, std::string_view path) {
  return open_by_parts(root.get(), std::string(path), file_flags);
}

}  // namespace dt
