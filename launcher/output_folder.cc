#include "launcher/output_folder.h"

#include "base/format.h"
#include "base/text.h"

#include <sys/stat.h>

#include <cerrno>

namespace dt {

namespace {

tl::unexpected<Error> refuse(const std::string& path, std::string_view why) {
  return fail(Errc::input, format("--output-dir: {}: {}", shell_quote(printable(path)), why));
}

}  // namespace

Result<> check_output_folder(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) < 0) return refuse(path, errno_text(errno));
  if (!S_ISDIR(status.st_mode)) return refuse(path, "this is no folder");
  const bool open_to_all = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!open_to_all) return {};
  return refuse(path,
                "every user of this machine can write into this folder and could replace the "
                "files; use another one, or: chmod o-w " +
                    shell_quote(printable(path)));
}

Result<> check_task_folder(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) < 0) return refuse(path, errno_text(errno));
  if (S_ISDIR(status.st_mode)) return {};
  return refuse(path, S_ISLNK(status.st_mode) ? "a link, where a folder of dtrain's belongs"
                                              : "this is no folder");
}

}  // namespace dt
