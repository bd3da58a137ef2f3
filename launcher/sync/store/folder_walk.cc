#include "launcher/sync/store/folder_walk.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace dt {

namespace {

/// Each open folder takes a descriptor, of which a process often has 1,024.
constexpr size_t depth_max = 256;
struct CloseDir {
  void operator()(DIR* listed) const { ::closedir(listed); }
};

bool is_folder(int folder, const char* name) {
  struct stat status = {};
  return ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

bool remove_python_cache(int folder, const char* name) {
  const Fd cache = open_folder(folder, name);
  if (!cache) return false;
  const Result<std::vector<std::string>> names = names_in(cache.get());
  if (!names) return false;
  for (const std::string& file : *names) {
    if (file.find(".pyc") == std::string::npos) return false;
  }
  for (const std::string& file : *names)
    ::unlinkat(cache.get(), file.c_str(), 0);
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

}  // namespace

std::string_view path_fault(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (path.find('\0') != std::string_view::npos) return "it has a NUL";
  bool first = true;
  const std::vector<std::string_view> parts = split(path, '/');
  if (parts.size() > depth_max) return "it has more than 256 parts";
  for (const std::string_view part : parts) {
    if (part.empty()) return "it is absolute or has an empty part";
    if (part == "." || part == "..") return "it leaves its folder";
    if (first && part == Manifest::own_folder) return "this folder belongs to dtrain";
    first = false;
  }
  return {};
}

std::string printable_path(std::string_view path) {
  constexpr size_t path_bytes_max = 4096;
  return printable(path, path_bytes_max);
}

Result<WalkedName> FolderWalk::enter(const std::string& path) {
  if (!missing_.empty() && path.starts_with(missing_) && path_fault(path).empty())
    return fail(Errc::not_found, "its folder is missing");
  return walk(path, false);
}

Result<WalkedName> FolderWalk::make(const std::string& path) {
  missing_.clear();
  return walk(path, true);
}

Result<WalkedName> FolderWalk::walk(const std::string& path, bool make_missing) {
  const std::string_view fault = path_fault(path);
  if (!fault.empty())
    return fail(Errc::input, format("the path {} is refused: {}", printable(path), fault));
  size_t depth = 0;
  size_t begin = 0;
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', begin)) {
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    if (depth == open_.size() || open_[depth].name != part) {
      open_.resize(depth);
      TRY(open_next(std::string_view(path).substr(0, end), make_missing));
    }
    ++depth;
    begin = end + 1;
  }
  const int parent = depth == 0 ? root_ : open_[depth - 1].folder.get();
  return WalkedName{.folder = parent, .name = path.c_str() + begin};
}

Result<> FolderWalk::open_next(std::string_view below, bool make_missing) {
  const int parent = open_.empty() ? root_ : open_.back().folder.get();
  const size_t slash = below.rfind('/');
  std::string name(slash == std::string_view::npos ? below : below.substr(slash + 1));
  constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd folder(::openat(parent, name.c_str(), flags));
  if (!folder && errno == ENOENT && make_missing && ::mkdirat(parent, name.c_str(), 0777) == 0)
    folder = Fd(::openat(parent, name.c_str(), flags));
  if (folder) {
    open_.push_back({std::move(name), std::move(folder)});
    return {};
  }
  const int number = errno;
  if (number == ENOTDIR || number == ELOOP) blocked_ = below;
  if (number == ENOENT) missing_ = format("{}/", below);
  const auto shown = printable_path(below);
  if (number == ENOTDIR || number == ELOOP)
    return fail(Errc::refused, format("{} is no folder there", shown));
  return fail(number == ENOENT ? Errc::not_found : Errc::os,
              format("cannot {} the folder {}: {}", make_missing ? "make" : "open", shown,
                     errno_text(number)));
}

bool has_target(const WalkedName& at, const std::string& target) {
  std::string found(target.size() + 1, '\0');
  const ssize_t length = ::readlinkat(at.folder, at.name, found.data(), found.size());
  return length == static_cast<ssize_t>(target.size()) && found.starts_with(target);
}

Fd open_folder(int folder, const char* name) {
  return Fd(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<std::vector<std::string>> names_in(int folder) {
  // The list moves the position of the descriptor, so it gets one of its own.
  Fd own = open_folder(folder, ".");
  if (!own) return fail(Errc::os, errno_text(errno));
  const std::unique_ptr<DIR, CloseDir> listed(::fdopendir(own.get()));
  if (!listed) return fail(Errc::os, errno_text(errno));
  static_cast<void>(own.release());
  std::vector<std::string> names;
  errno = 0;
  // No other thread has this stream.
  while (const dirent* const entry = ::readdir(listed.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail(Errc::os, errno_text(errno));
  std::ranges::sort(names);
  return names;
}

Result<> remove_tree(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return {};
  if (!is_folder(folder, name)) return fail(Errc::os, errno_text(errno));
  Fd below = open_folder(folder, name);
  if (!below || ::faccessat(below.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    // The name is that of a folder, so that no link's target gets the mode.
    if (::fchmodat(folder, name, 0700, 0) != 0) return fail(Errc::os, errno_text(errno));
    below = open_folder(folder, name);
  }
  if (!below) return fail(Errc::os, errno_text(errno));
  for (const std::string& child : TRY(names_in(below.get())))
    TRY(remove_tree(below.get(), child.c_str()));
  if (::unlinkat(folder, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fail(Errc::os, errno_text(errno));
  return {};
}

Result<> remove_tree(const std::string& path) {
  const Result<> removed = remove_tree(AT_FDCWD, path.c_str());
  if (removed) return {};
  return fail(Errc::os,
              format("cannot remove {}: {}", printable_path(path), removed.error().message));
}

bool remove_empty_folder(int folder, const char* name) {
  if (::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) return false;
  const Fd below = open_folder(folder, name);
  if (!below) return false;
  const Result<std::vector<std::string>> names = names_in(below.get());
  if (!names) return false;
  for (const std::string& child : *names) {
    const bool gone = child == "__pycache__" ? remove_python_cache(below.get(), child.c_str())
                                             : remove_empty_folder(below.get(), child.c_str());
    if (!gone) return false;
  }
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

}  // namespace dt
