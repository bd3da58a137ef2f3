#include "launcher/config/files/found_file.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace dt {
namespace {

using State = FoundFile::State;

bool is_ours(const struct stat& status) {
  return status.st_uid == 0 || status.st_uid == geteuid();
}

/// True when a user besides the owner may write the file. On most systems, a group with the owner's
/// number is the owner's own group. New files may be writable by that group there.
bool others_may_write(const struct stat& status) {
  if ((status.st_mode & S_IWOTH) != 0) return true;
  const bool own_group = status.st_gid == status.st_uid && status.st_uid != 0;
  return (status.st_mode & S_IWGRP) != 0 && !own_group;
}

std::optional<std::string> fault_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (!is_ours(status)) {
    return format("it belongs to the user {}, not to you or root", status.st_uid);
  }
  if (others_may_write(status)) {
    return format("other users may write it (mode {:04o}; try: chmod go-w)",
                  status.st_mode & 07777U);
  }
  return std::nullopt;
}

/// Returns the result for a path that open(2) or lstat(2) refused with this errno.
Result<FoundFile> not_opened(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return FoundFile{};
    case EACCES:
      return FoundFile{.state = State::unreadable, .why = errno_text(error)};
    case ENXIO:  // a socket
      return FoundFile{.state = State::distrusted, .why = "it is not a regular file"};
    default:
      return fail(Errc::os, errno_text(error));
  }
}

}  // namespace

std::optional<std::string> user_config_file(const Environment& environment, std::string_view name) {
  const auto folder = environment.find("XDG_CONFIG_HOME");
  const auto home = environment.find("HOME");
  // The XDG specification: relative folders are invalid and to be ignored.
  if (folder != environment.end() && folder->second.starts_with('/'))
    return format("{}/dtrain/{}", folder->second, name);
  if (home != environment.end() && home->second.starts_with('/'))
    return format("{}/.config/dtrain/{}", home->second, name);
  return std::nullopt;
}

Result<FoundFile> read_found_file(const std::string& path, size_t bytes_max) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return not_opened(errno);
  const bool is_link = S_ISLNK(status.st_mode);
  if (is_link && !is_ours(status)) {
    return FoundFile{
        .state = State::distrusted,
        .why = format("it is a link of the user {}, not of you or root", status.st_uid)};
  }
  // O_NOFOLLOW: the file may have become a link since lstat(2).
  const int follow = is_link ? 0 : O_NOFOLLOW;
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | follow));
  if (!file) return not_opened(errno);
  if (fstat(file.get(), &status) != 0) return fail(Errc::os, errno_text(errno));
  if (std::optional<std::string> fault = fault_of(status)) {
    return FoundFile{.state = State::distrusted, .why = *std::move(fault)};
  }
  std::string text = TRY(read_text(file.get(), bytes_max));
  return FoundFile{.state = State::read, .text = std::move(text)};
}

}  // namespace dt
