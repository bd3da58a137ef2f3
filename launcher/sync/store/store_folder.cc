#include "launcher/sync/store/store_folder.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

namespace dt {

namespace {

/// Makes a program in the folder and removes it. Returns the reason why that is not possible.
std::optional<std::string> probe_failure(const std::string& folder) {
  const Result<std::string> name = random_name(8);
  if (!name) return name.error().message;
  const std::string path = folder + "/probe." + *name;
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (!file) return errno_text(errno);
  constexpr std::array<std::byte, 4096> content = {};
  std::optional<std::string> failure;
  const Result<> written = write_all(file.get(), content);
  if (!written) failure = written.error().message;
  // access(2) refuses X_OK on a file system that is mounted with noexec.
  if (!failure && ::access(path.c_str(), X_OK) != 0) failure = "programs cannot run there (noexec)";
  ::unlink(path.c_str());
  return failure;
}

Result<std::string> use_candidate(const std::string& candidate) {
  TRY(make_folders(candidate));
  const std::string foreign = foreign_folder(candidate);
  if (!foreign.empty()) return fail(Errc::refused, foreign);
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(candidate, failed);
  if (failed) return fail(Errc::os, failed.message());
  if (auto failure = probe_failure(real.string())) return fail(Errc::os, *std::move(failure));
  return real.string();
}

}  // namespace

std::vector<std::string> store_candidates(const Environment& environment) {
  std::vector<std::string> folders;
  const auto add = [&](const char* variable, std::string_view below) {
    const auto found = environment.find(variable);
    if (found != environment.end() && found->second.starts_with('/'))
      folders.push_back(format("{}/{}", found->second, below));
  };
  add("HOME", ".cache/dtrain");
  add("XDG_RUNTIME_DIR", "dtrain");
  folders.push_back(format("/tmp/dtrain-{}", ::getuid()));
  return folders;
}

std::string foreign_folder(const std::string& path) {
  struct stat link = {};
  struct stat target = {};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &target) != 0)
    return errno_text(errno);
  if (!S_ISDIR(target.st_mode)) return errno_text(ENOTDIR);
  // In /tmp, the last name may be a link of another user.
  const bool own_name = link.st_uid == 0 || link.st_uid == ::geteuid();
  const bool own_folder =
      target.st_uid == ::geteuid() && (target.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (own_name && own_folder) return {};
  return "it must be yours, and no other may write there (chmod go-w)";
}

Result<StoreFolder> StoreFolder::find(const std::vector<std::string>& candidates) {
  std::vector<std::string> reasons;
  for (const std::string& candidate : candidates) {
    Result<std::string> path = use_candidate(candidate);
    if (path) return StoreFolder(*std::move(path));
    reasons.push_back(format("{}: {}", printable_path(candidate), path.error().message));
  }
  return fail(Errc::os, format("no folder on this host can keep the files of a job; make room or "
                               "give rights in one of them:\n  {}",
                               join(reasons, "\n  ")));
}

Result<std::string> StoreFolder::folder(std::string_view below) const {
  std::string path = format("{}/{}", path_, below);
  const Result<> made = make_folders(path);
  if (made) return path;
  return fail(Errc::os,
              format("cannot make the folder {}: {}", printable_path(path), made.error().message));
}

}  // namespace dt
