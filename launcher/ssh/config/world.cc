#include "base/format.h"
#include "base/io/file.h"
#include "launcher/ssh/config/ssh_config.h"

#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>

namespace dt {
namespace {

/// OpenSSH has no limit. This one stops at a device that never ends.
constexpr size_t file_bytes_max = size_t{16} << 20;

using Texts = std::map<std::string, Result<std::string>>;

/// True when this process's user or root owns the file, and no other user may write it. A group
/// with the owner's number counts as the owner: on Debian it is the user's private group.
bool is_guarded(const struct stat& status) {
  if (status.st_uid != 0 && status.st_uid != getuid()) return false;
  if ((status.st_mode & S_IWOTH) != 0) return false;
  return (status.st_mode & S_IWGRP) == 0 || status.st_gid == status.st_uid;
}

Result<std::string> read_file(const std::string& path, bool guarded) {
  struct stat status = {};
  if (guarded && stat(path.c_str(), &status) == 0 && !is_guarded(status)) {
    return fail(Errc::refused,
                "its owner or permissions let somebody else change it; try: chmod go-w");
  }
  return read_text_file(path, file_bytes_max);
}

std::vector<std::string> matching_paths(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::string> home_of(const std::string& user) {
  const passwd* const entry = getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  return entry != nullptr ? std::optional<std::string>(entry->pw_dir) : std::nullopt;
}

}  // namespace

SshWorld this_machine_for_ssh() {
  const auto texts = std::make_shared<Texts>();
  return {.read = [texts](const std::string& path, bool guarded) -> Result<std::string> {
            const auto known = texts->find(path);
            if (known != texts->end()) return known->second;
            return texts->emplace(path, read_file(path, guarded)).first->second;
          },
          .glob = matching_paths,
          .environment = variable,
          .home_of = home_of};
}

}  // namespace dt
