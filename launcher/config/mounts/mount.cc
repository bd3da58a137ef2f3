#include "launcher/config/mounts/mount.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {
namespace {

/// File systems of the kernel: programs find no data there.
constexpr std::array<std::string_view, 3> kernel_places = {"/proc", "/sys", "/dev"};

bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// Takes a suffix such as ":ro" off.
bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Result<std::string> read_target(std::string_view text) {
  const auto plain = plain_path(text);
  if (!plain) return fail(Errc::input, format("the target {}", plain.error().message));
  if (*plain == "/") {
    return fail(Errc::input,
                "the target \"/\" would hide all files of the host; give a folder below it");
  }
  for (const std::string_view place : kernel_places) {
    if (!is_at_or_below(*plain, place)) continue;
    return fail(Errc::input, format("the target \"{}\" is in {}, which is the kernel's; give "
                                    "another folder",
                                    printable(*plain), place));
  }
  return *plain;
}

}  // namespace

Result<std::string> plain_path(std::string_view path) {
  if (!path.starts_with('/'))
    return fail(Errc::input, format("\"{}\" is no absolute path", printable(path)));
  if (path.find('\0') != std::string_view::npos)
    return fail(Errc::input, format("\"{}\" has a NUL byte", printable(path)));
  std::string plain;
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") {
      return fail(Errc::input,
                  format("\"{}\" has \"..\", which can leave its folder", printable(path)));
    }
    if (!part.empty() && part != ".") plain += format("/{}", part);
  }
  return plain.empty() ? "/" : plain;
}

Result<NfsExport> parse_nfs_export(std::string_view source) {
  const std::string_view rest = source.substr(std::min(nfs_scheme.size(), source.size()));
  const size_t slash = std::min(rest.find('/'), rest.size());
  const auto path = plain_path(rest.substr(slash));
  if (!source.starts_with(nfs_scheme) || slash == 0 || !path) {
    return fail(Errc::input, format("expected nfs://server/export, got \"{}\"", printable(source)));
  }
  return NfsExport{.server = std::string(rest.substr(0, slash)), .path = *path};
}

Result<> add_mount(std::vector<Mount>& mounts, std::string_view text) {
  std::string_view rest = text;
  const bool read_only = take_suffix(rest, ":ro");
  if (!read_only) take_suffix(rest, ":rw");
  const size_t colon = rest.rfind(":/");
  // The colon of nfs:// separates no target.
  const bool has_target =
      colon != std::string_view::npos && rest.substr(colon).substr(0, 3) != "://";
  if (!has_target) {
    const size_t other = rest.rfind(':');
    const bool is_relative = other != std::string_view::npos && other + 1 < rest.size() &&
                             rest.substr(other).substr(0, 2) != ":/";
    return fail(Errc::input, is_relative
                                 ? format("the target \"{}\" is no absolute path",
                                          printable(rest.substr(other + 1)))
                                 : format("\"{}\" has no target; expected SOURCE:TARGET, such as "
                                          "/srv/imagenet:/data",
                                          printable(text)));
  }
  std::string target = TRY(read_target(rest.substr(colon + 1)));
  Mount mount = {.source = std::string(rest.substr(0, colon)),
                 .target = std::move(target),
                 .read_only = read_only,
                 .command = {}};
  if (mount.source.empty())
    return fail(Errc::input, format("the mount at {} has no source", printable(mount.target)));
  if (std::ranges::find(mounts, mount.target, &Mount::target) != mounts.end())
    return fail(Errc::input, format("two mounts have the target {}", printable(mount.target)));
  mounts.push_back(std::move(mount));
  return {};
}

Result<> set_mount_command(std::vector<Mount>& mounts, std::string_view text) {
  const size_t equals = text.find('=');
  const auto target = plain_path(text.substr(0, std::min(equals, text.size())));
  if (equals == std::string_view::npos || !target) {
    return fail(Errc::input,
                format("expected TARGET=COMMAND, such as '/data=sshfs store:/data {{target}}', got "
                       "\"{}\"",
                       printable(text)));
  }
  const std::string_view command = text.substr(equals + 1);
  const auto mount = std::ranges::find(mounts, *target, &Mount::target);
  if (mount == mounts.end()) {
    return fail(Errc::input, format("no mount has the target {}; give it with --mount {}",
                                    printable(*target), printable(format("SOURCE:{}", *target))));
  }
  if (!mount->command.empty()) {
    return fail(Errc::input,
                format("the mount at {} has two commands; leave one of them out", *target));
  }
  if (command.find_first_not_of(" \t\r\n") == std::string_view::npos ||
      command.find('\0') != std::string_view::npos) {
    return fail(Errc::input, format("the command for {} is empty", printable(*target)));
  }
  if (command.find("{target}") == std::string_view::npos) {
    return fail(Errc::input, format("the command for {} has no {{target}}, which stands for the "
                                    "folder where it mounts",
                                    printable(*target)));
  }
  mount->command = command;
  return {};
}

Result<> check_mount_sources(const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    if (!mount.command.empty()) continue;
    if (mount.source.starts_with(nfs_scheme)) {
      TRY(parse_nfs_export(mount.source));
      continue;
    }
    if (mount.source.find("://") != std::string::npos) {
      return fail(Errc::input,
                  format("dtrain does not mount \"{}\"; give the program that does, by "
                         "--mount-command {}=COMMAND",
                         printable(mount.source), printable(mount.target)));
    }
    const auto plain = plain_path(mount.source);
    if (!plain) return fail(Errc::input, format("the source {}", plain.error().message));
  }
  return {};
}

std::string mount_text(const Mount& mount) {
  return format("{}:{}{}", mount.source, mount.target, mount.read_only ? ":ro" : "");
}

}  // namespace dt
