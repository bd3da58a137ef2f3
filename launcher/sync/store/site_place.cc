#include "launcher/sync/store/site_place.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace dt {

namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> bad_target(std::string_view target, std::string_view why) {
  return fail(Errc::input, format("--sync-to {}: {}", printable_path(target), why));
}

/// True for the same folder and for all below it.
bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, unused] = std::ranges::mismatch(folder, path);
  static_cast<void>(unused);
  return end == folder.end();
}

Result<fs::path> target_path(const SiteOrder& order) {
  const std::string& target = order.target;
  for (const std::string_view part : split(target, '/')) {
    if (part == "..")
      return bad_target(target, "it must have no '..'; give the path that it means");
  }
  if (!target.starts_with('/') && !order.home.starts_with('/'))
    return bad_target(target, "this host has no home to find it in; give an absolute path");
  const std::string whole = target.starts_with('/') ? target : order.home + "/" + target;
  std::error_code failed;
  const fs::path path = fs::weakly_canonical(whole, failed);
  if (failed) return bad_target(target, failed.message());
  // A "/" at the end makes an empty last part.
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

/// True if the folder is the source, which another name may lead to here.
bool is_source(const fs::path& folder, const SiteOrder& order) {
  return ::access((folder / order.source_marker).c_str(), F_OK) == 0;
}

Result<> check_source(const fs::path& target, const SiteOrder& order) {
  if (order.source_root.empty()) return {};
  if (!order.source_marker.empty()) {
    for (fs::path at = target; at.has_relative_path(); at = at.parent_path()) {
      if (!is_source(at, order)) continue;
      return bad_target(order.target, format("it is in the tree that is copied, {}",
                                             printable_path(at.string())));
    }
    if (!is_source(order.source_root, order)) return {};
  }
  std::error_code failed;
  const fs::path source = fs::weakly_canonical(order.source_root, failed);
  if (failed) return {};
  const std::string shown = printable_path(source.string());
  if (is_within(target, source))
    return bad_target(order.target, format("it is in the tree that is copied, {}", shown));
  if (is_within(source, target))
    return bad_target(order.target, format("the tree that is copied, {}, is in it", shown));
  return {};
}

/// dtrain's folder in a target: its owner could name other files as dtrain's, to have them removed.
Result<> make_own_folder(const SitePlace& place, const SiteOrder& order) {
  if (::mkdir(place.own.c_str(), 0700) != 0 && errno != EEXIST)
    return bad_target(order.target, format("cannot write there: {}", errno_text(errno)));
  struct stat status = {};
  if (::lstat(place.own.c_str(), &status) != 0) return bad_target(order.target, errno_text(errno));
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid()) return {};
  return bad_target(order.target, format("its folder {} belongs to another user, or is none",
                                         Manifest::own_folder));
}

Result<> check_files(const SitePlace& place, const SiteOrder& order) {
  if (order.into || ::access((place.own + std::string(site_files::index)).c_str(), F_OK) == 0)
    return {};
  const Fd root = open_folder(AT_FDCWD, place.root.c_str());
  if (!root) return bad_target(order.target, errno_text(errno));
  std::vector<std::string> names = TRY(names_in(root.get()));
  std::erase(names, Manifest::own_folder);
  if (names.empty()) return {};
  return bad_target(order.target,
                    format("it has files that dtrain has not put there, such as {}; name an empty "
                           "folder, or add --sync-into to put the tree among them",
                           printable(names.front())));
}

}  // namespace

Result<SitePlace> find_place(const SiteOrder& order, const StoreFolder& store) {
  const bool file_name =
      !order.job.empty() && !order.job.starts_with('.') && order.job.find('/') == std::string::npos;
  if (!file_name)
    return fail(Errc::input, format("the job's id {} is no file name", printable(order.job)));
  if (order.target.empty()) {
    const std::string root = format("{}/trees/{}", store.path(), order.job);
    return SitePlace{.root = root, .own = root + std::string(own_suffix), .kept = false};
  }
  const fs::path target = TRY(target_path(order));
  if (target == "/") return bad_target(order.target, "the root of the host cannot be a tree");
  TRY(check_source(target, order));
  return SitePlace{
      .root = target.string(), .own = (target / Manifest::own_folder).string(), .kept = true};
}

Result<> make_place(const SitePlace& place, const SiteOrder& order) {
  std::error_code failed;
  if (!place.kept) {
    fs::create_directory(place.own, failed);
    if (!failed) return {};
    return fail(Errc::os, format("cannot make the folder {}: {}", printable_path(place.own),
                                 failed.message()));
  }
  if (fs::exists(place.root, failed) && !fs::is_directory(place.root, failed))
    return bad_target(order.target, "a file is there; name a folder");
  fs::create_directories(place.root, failed);
  if (failed) return bad_target(order.target, format("cannot make it: {}", failed.message()));
  TRY(check_files(place, order));
  return make_own_folder(place, order);
}

}  // namespace dt
