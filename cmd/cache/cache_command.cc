#include "cmd/cache/cache_command.h"

#include "base/format.h"
#include "base/text.h"
#include "base/wall_time.h"
#include "cmd/cache/cached_trees.h"
#include "launcher/sync/store/store_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

namespace dt {
namespace {

namespace fs = std::filesystem;

constexpr size_t digest_letters = 64;

/// True for SHA256 and SHA256.old, the folder of a copy.
bool is_copy(const std::string& name) {
  constexpr std::string_view hex = "0123456789abcdef";
  const std::string_view digest = std::string_view(name).substr(0, digest_letters);
  const std::string_view rest = std::string_view(name).substr(digest.size());
  return digest.size() == digest_letters && digest.find_first_not_of(hex) == std::string::npos &&
         (rest.empty() || rest == ".old");
}

/// Returns the folders of copies, sorted. A link is none: it may belong to another user.
std::vector<fs::path> copies_in(const std::string& folder) {
  std::vector<fs::path> copies;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::error_code unknown;
    const bool own_folder = entry.symlink_status(unknown).type() == fs::file_type::directory;
    if (own_folder && is_copy(entry.path().filename().string())) copies.push_back(entry.path());
  }
  std::ranges::sort(copies);
  return copies;
}

/// True for a folder that no other user can fill, as a host looks at it before it runs a copy. In
/// /tmp, the last name may be a link of another user.
bool is_own(const std::string& folder) {
  struct stat link = {};
  struct stat target = {};
  if (::lstat(folder.c_str(), &link) != 0 || ::stat(folder.c_str(), &target) != 0) return false;
  return (link.st_uid == 0 || link.st_uid == ::geteuid()) && target.st_uid == ::geteuid() &&
         (target.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string left_out(const std::string& folder) {
  return format("{} is left out: it must be yours, and no other may write there\n",
                printable(folder, 4096));
}

uintmax_t bytes_of(const fs::path& copy) {
  std::error_code failed;
  const uintmax_t bytes = fs::file_size(copy / "dtrain", failed);
  return failed ? 0 : bytes;
}

/// None when the copy has not become whole.
std::optional<std::string> day_of(const fs::path& file) {
  std::error_code failed;
  const auto when = fs::last_write_time(file, failed);
  if (failed) return std::nullopt;
  const auto time = std::chrono::file_clock::to_sys(when);
  return utc_text(std::chrono::time_point_cast<WallClock::duration>(time)).substr(0, 10);
}

}  // namespace

std::string list_cache(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) {
    const std::vector<fs::path> copies = copies_in(folder);
    if ((!copies.empty() || keeps_trees(folder)) && !is_own(folder)) {
      text += left_out(folder);
      continue;
    }
    for (const fs::path& copy : copies) {
      const fs::path file = copy / "dtrain";
      const std::optional<std::string> day = day_of(file);
      const std::string state = day ? "last used " + *day : "unfinished";
      text += cache_line({.bytes = bytes_of(copy), .state = state, .path = file.string()});
    }
    if (keeps_trees(folder)) text += list_trees(folder);
  }
  return text.empty() ? "no copies of dtrain\n" : text;
}

Result<std::string> clear_cache(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) {
    const std::vector<fs::path> copies = copies_in(folder);
    if ((!copies.empty() || keeps_trees(folder)) && !is_own(folder)) {
      text += left_out(folder);
      continue;
    }
    uintmax_t bytes = 0;
    for (const fs::path& copy : copies) {
      bytes += bytes_of(copy);
      std::error_code failed;
      fs::remove_all(copy, failed);
      if (failed) {
        return fail(Errc::os, format("cannot remove {}: {}", printable(copy.string(), 4096),
                                     failed.message()));
      }
    }
    if (!copies.empty()) {
      text +=
          format("removed {} {} ({}) in {}\n", copies.size(),
                 copies.size() == 1 ? "copy" : "copies", megabytes(bytes), printable(folder, 4096));
    }
    const bool trees = keeps_trees(folder);
    if (trees) {
      const std::string removed = TRY(clear_trees_and_objects(folder));
      text += removed;
    }
    std::error_code not_empty;
    if (trees || !copies.empty()) fs::remove(folder, not_empty);
  }
  return text.empty() ? "no copies of dtrain\n" : text;
}

Result<std::string> answer_cache(std::string_view verb, const Environment& environment) {
  const std::vector<std::string> folders = store_candidates(environment);
  std::string text = list_cache(folders);
  if (verb == "clear") text = TRY(clear_cache(folders));
  const auto host = environment.find("DTRAIN_HOSTNAME");
  if (host == environment.end()) return text;
  std::string lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) lines += format("{}: {}\n", printable(host->second), line);
  }
  return lines;
}

Result<std::string> make_answer_folder() {
  std::error_code failed;
  const fs::path temporary = fs::temp_directory_path(failed);
  std::string name = (failed ? "/tmp" : temporary) / "dtrain-cache-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return fail(Errc::os, format("cannot make a folder {}: {}", name, errno_text(errno)));
  return name;
}

std::string take_answers(const std::string& folder) {
  std::vector<fs::path> ranks;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    ranks.push_back(entry.path());
  std::ranges::sort(ranks);
  std::string text;
  for (const fs::path& rank : ranks) {
    std::ifstream file(rank / "stdout");
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  fs::remove_all(folder, ignored);
  return text;
}

}  // namespace dt
