#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A folder that the tasks of each host find at another place.
struct Mount {
  std::string source;      ///< a folder of the host, or "nfs://server/export"; see `command`
  std::string target;      ///< the place: an absolute path without "." and ".." and no / at its end
  bool read_only = false;  ///< also what is mounted below it
  std::string command;     ///< a line of a shell that mounts; `source` is any text then
  bool operator==(const Mount&) const = default;
};

/// An export of an NFS server, which an administrator mounts.
struct NfsExport {
  std::string server;
  std::string path;  ///< absolute
  bool operator==(const NfsExport&) const = default;
};

inline constexpr std::string_view nfs_scheme = "nfs://";

/// Reads "nfs://server/export/path". Fails with Errc::input for a text without server or path.
Result<NfsExport> parse_nfs_export(std::string_view source);

/// Adds the mount of a value of --mount, "SOURCE:TARGET" or "SOURCE:TARGET:ro". Fails with
/// Errc::input for a target that is relative, "/", or in a file system of the kernel, and for a
/// second mount at one target.
Result<> add_mount(std::vector<Mount>& mounts, std::string_view text);

/// Gives a mount its command, by a value of --mount-command: "TARGET=COMMAND". Fails with
/// Errc::input when no mount has this target, or when it has a command.
Result<> set_mount_command(std::vector<Mount>& mounts, std::string_view text);

/// Fails with Errc::input for a source that is neither a folder nor an export, and has no command.
Result<> check_mount_sources(const std::vector<Mount>& mounts);

/// Returns the value of --mount for this mount.
std::string mount_text(const Mount& mount);

/// Returns the folders of a path in a shorter form: "/a//b/./c/" is "/a/b/c". Fails with
/// Errc::input for ".." and for a relative path.
Result<std::string> plain_path(std::string_view path);

}  // namespace dt
