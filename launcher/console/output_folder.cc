#include "launcher/console/output_folder.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

namespace dt {

namespace {

tl::unexpected<Error> refuse(const std::string& path, std::string_view why) {
  return fail(Errc::input, format("{}: {}", shell_quote(printable(path)), why));
}

tl::unexpected<Error> refuse_file(const std::string& path, std::string_view why) {
  return fail(Errc::input, format("cannot write {}: {}", shell_quote(printable(path)), why));
}

tl::unexpected<Error> cannot_make(const std::string& path) {
  return fail(Errc::input,
              format("cannot make {}: {}", shell_quote(printable(path)), errno_text(errno)));
}

Result<> make_folder(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
  return cannot_make(path);
}

struct Found {
  Fd fd;
  struct stat about;
};

/// Opens the entry with this name, or the link itself, without reading it or blocking.
Result<Found> find_entry(int folder, const std::string& name, const std::string& path) {
  Found found = {.fd = Fd(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)),
                 .about = {}};
  if (!found.fd || ::fstat(found.fd.get(), &found.about) < 0)
    return refuse(path, errno_text(errno));
  return found;
}

/// Opens the target of a link. Fails with Errc::input if the link belongs to another user than us
/// or root.
Result<Found> follow(const Found& link, const std::string& path) {
  const uid_t owner = link.about.st_uid;
  if (owner != 0 && owner != ::geteuid()) {
    return refuse(path, format("this link belongs to another user (uid {}), who chooses where it "
                               "leads; give the folder itself",
                               owner));
  }
  Found found = {.fd = Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)), .about = {}};
  if (!found.fd || ::fstat(found.fd.get(), &found.about) < 0)
    return refuse(path, errno_text(errno));
  return found;
}

/// Removes slashes at the end: with one, the kernel follows a link.
std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

bool has_file(int folder, const std::string& name) {
  struct stat about = {};
  return ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(about.st_mode);
}

/// True for "rank.2" or "ps.0", a folder with the output or result of a task.
bool is_task_folder(int folder, const std::string& name) {
  const size_t dot = name.rfind('.');
  const bool numbered = dot != std::string::npos && dot > 0 && dot + 1 < name.size() &&
                        name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return numbered && (has_file(folder, name + "/stdout") || has_file(folder, name + "/result"));
}

/// Renames NAME to the first free one of NAME.old, NAME.old-2, … Returns 0 or errno.
int rename_to_old(int folder, const std::string& name) {
  constexpr int tries_max = 1000;
  for (int count = 1; count <= tries_max; ++count) {
    const std::string old = count == 1 ? name + ".old" : format("{}.old-{}", name, count);
    if (::renameat2(folder, name.c_str(), folder, old.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

/// Returns why a file must not be emptied, or empty if it may be.
std::string_view objection(const struct stat& about) {
  if (!S_ISREG(about.st_mode)) return "it is no regular file; remove it, or give another folder";
  if (about.st_uid != ::geteuid())
    return "it belongs to another user; remove it, or give another folder";
  if (about.st_nlink > 1) return "it is also another file (a hard link); remove it";
  return "";
}

}  // namespace

Result<OutputFolder> OutputFolder::open(const std::string& wanted) {
  const std::string path = without_last_slashes(wanted);
  if (const auto made = make_folders(path); !made) return fail(Errc::input, made.error().message);
  Found found = TRY(find_entry(AT_FDCWD, path, path));
  if (S_ISLNK(found.about.st_mode)) found = TRY(follow(found, path));
  const mode_t mode = found.about.st_mode;
  if (!S_ISDIR(mode)) return refuse(path, "this is no folder");
  if ((mode & S_IWOTH) == 0 || (mode & S_ISVTX) != 0) {
    return OutputFolder(path, std::move(found.fd));
  }
  return refuse(path,
                "every user of this machine can write into this folder and could replace the "
                "files; use another one, or: chmod o-w " +
                    shell_quote(printable(path)));
}

Result<OutputFolder> OutputFolder::task_folder(const std::string& name) const {
  std::string path = path_of(name);
  TRY(make_folder(folder_.get(), name, path));
  Found found = TRY(find_entry(folder_.get(), name, path));
  if (S_ISLNK(found.about.st_mode))
    return refuse(path, "a link, where a folder of dtrain's belongs");
  if (!S_ISDIR(found.about.st_mode)) return refuse(path, "this is no folder");
  if (found.about.st_uid != ::geteuid()) {
    return refuse(path, format("this folder belongs to another user (uid {}), who could read and "
                               "change the output; remove it, or give another folder",
                               found.about.st_uid));
  }
  return OutputFolder(std::move(path), std::move(found.fd));
}

Result<std::vector<std::string>> OutputFolder::put_aside_others(
    const std::set<std::string>& ours) const {
  std::vector<std::string> others;
  Fd listed(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listed.get()), ::closedir);
  if (!entries) return refuse(path_, errno_text(errno));
  static_cast<void>(listed.release());
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this stream of entries has one reader
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (!ours.contains(name) && is_task_folder(folder_.get(), name)) others.push_back(name);
  }
  std::ranges::sort(others);
  for (const std::string& name : others) {
    if (const int error = rename_to_old(folder_.get(), name); error != 0)
      return refuse(path_of(name), format("the output of an earlier job, which cannot be renamed: "
                                          "{}; remove it, or give another folder",
                                          errno_text(error)));
  }
  return others;
}

Result<Fd> OutputFolder::make_file(const std::string& name) const {
  const std::string path = path_of(name);
  // Non-blocking: the open of a FIFO would wait for its reader. Truncation comes after the check.
  Fd file(::openat(folder_.get(), name.c_str(),
                   O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                   S_IRUSR | S_IWUSR));
  if (!file && errno == ELOOP) return refuse_file(path, "it is a symbolic link; remove it");
  struct stat about = {};
  if (!file && errno == ENXIO) return refuse_file(path, objection(about));
  if (!file || ::fstat(file.get(), &about) < 0) return refuse_file(path, errno_text(errno));
  const std::string_view why_not = objection(about);
  if (!why_not.empty()) return refuse_file(path, why_not);
  if (::ftruncate(file.get(), 0) < 0) return refuse_file(path, errno_text(errno));
  return file;
}

}  // namespace dt
