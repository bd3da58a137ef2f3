#include "launcher/process/executable.h"

#include "base/format.h"
#include "base/text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dt {

namespace {

/// Returns 0 when `file` can be executed, else the errno that exec would fail with.
int why_not_runnable(const std::string& file) {
  struct stat about = {};
  if (::stat(file.c_str(), &about) < 0) return errno;
  if (S_ISDIR(about.st_mode)) return EISDIR;
  if (::access(file.c_str(), X_OK) < 0) return errno;
  return 0;
}

std::string absolute(std::string_view file, std::string_view cwd) {
  if (file.starts_with('/')) return std::string(file);
  return format("{}/{}", cwd, file);
}

}  // namespace

Result<std::string> find_executable(std::string_view command, std::string_view path,
                                    std::string_view cwd) {
  if (command == own_command) return "/proc/self/exe";
  const std::string shown = shell_quote(printable(command));
  if (command.find('/') != std::string_view::npos) {
    std::string file = absolute(command, cwd);
    const int number = why_not_runnable(file);
    if (number == 0) return file;
    const bool missing = number == ENOENT || number == ENOTDIR;
    return fail(missing ? Errc::not_found : Errc::not_runnable,
                format("cannot run {}: {}{}", shown, errno_text(number),
                       number == EACCES ? format("; try: chmod +x {}", shown) : ""));
  }
  std::string refused;
  for (const std::string_view folder : split(path, ':')) {
    std::string file = absolute(format("{}/{}", folder.empty() ? "." : folder, command), cwd);
    const int number = why_not_runnable(file);
    if (number == 0) return file;
    // A folder that this user cannot search may have no such file: shells ignore it.
    const bool is_there = ::access(file.c_str(), F_OK) == 0;
    if (number == EACCES && is_there && refused.empty()) refused = file;
  }
  if (!refused.empty()) {
    return fail(Errc::not_runnable, format("cannot run {}: Permission denied; try: chmod +x {}",
                                           shown, shell_quote(printable(refused))));
  }
  return fail(Errc::not_found,
              format("cannot run {}: not found in PATH={}", shown, printable(path, 300)));
}

}  // namespace dt
