#include "cmd/cache/cached_trees.h"

#include "base/format.h"
#include "base/text.h"
#include "base/wall_time.h"
#include "launcher/sync/host/markers.h"
#include "launcher/sync/setup/kept_setups.h"
#include "launcher/sync/store/checkout_folder.h"
#include "launcher/sync/store/kept_trees.h"
#include "launcher/sync/store/locked_file.h"
#include "launcher/sync/store/object_store.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

namespace dt {

namespace {

constexpr size_t path_bytes_shown = 4096;

/// Returns "1 tree" and "2 trees".
std::string counted(size_t count, std::string_view noun) {
  return format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Returns the line of a tree or a setup.
template <class Kept>
std::string line_of(const Kept& kept) {
  const std::string day = utc_text(kept.last_use).substr(0, 10);
  const std::string state = kept.in_use ? "in use" : "last used " + day;
  return cache_line({.bytes = kept.bytes, .state = state, .path = kept.path});
}

/// Removes the setups, but those of running jobs, and returns a line for each of both.
Result<std::string> clear_setups_of(const std::string& folder) {
  const std::string shown = printable(folder, path_bytes_shown);
  const ClearedSetups setups = TRY(clear_setups(folder));
  std::string text;
  if (setups.setups > 0) {
    text += format("removed {} ({}) in {}/setups\n", counted(setups.setups, "setup"),
                   megabytes(setups.bytes), shown);
  }
  if (setups.in_use > 0)
    text += format("{} in use left in {}/setups\n", counted(setups.in_use, "setup"), shown);
  std::error_code not_empty;
  std::filesystem::remove(folder + "/setups", not_empty);
  return text;
}

/// Counts or removes what killed jobs have left, of every kind.
Leftovers leftovers_in(const std::string& folder, LeftoverWork work) {
  Leftovers left = unfinished_trees(folder, work, WallClock::now());
  left.add(unfinished_objects(folder, work));
  left.add(unfinished_setups(folder, work));
  left.add(left_checkouts(folder, work));
  left.add(left_markers(folder, work));
  return left;
}

}  // namespace

std::string megabytes(uint64_t bytes) {
  return format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string cache_line(const CacheLine& line) {
  return format("{:>8}  {:<20}  {}\n", megabytes(line.bytes), line.state,
                printable(line.path, path_bytes_shown));
}

bool keeps_trees(const std::string& folder) {
  const auto is_there = [&folder](const char* below) {
    std::error_code failed;
    return std::filesystem::exists(folder + below, failed);
  };
  return is_there("/trees") || is_there("/objects") || is_there("/setups") ||
         is_there("/checkouts") || is_there("/markers");
}

std::string list_trees(const std::string& folder) {
  std::string text;
  for (const KeptTree& tree : list_kept_trees(folder))
    text += line_of(tree);
  for (const KeptSetup& setup : list_kept_setups(folder))
    text += line_of(setup);
  const StoredObjects objects = list_objects(folder);
  if (objects.count > 0) {
    const std::string state = counted(objects.count, "file");
    text += cache_line({.bytes = objects.bytes, .state = state, .path = objects.path});
  }
  const Leftovers left = leftovers_in(folder, LeftoverWork::count);
  if (left.count == 0) return text;
  const std::string state = counted(left.count, "leftover");
  return text + cache_line({.bytes = left.bytes, .state = state, .path = folder});
}

Result<std::string> clear_trees_and_objects(const std::string& folder) {
  const std::string shown = printable(folder, path_bytes_shown);
  const Leftovers left = leftovers_in(folder, LeftoverWork::remove);
  const ClearedTrees trees = TRY(clear_trees(folder));
  const StoredObjects objects = TRY(clear_objects(folder));
  std::string text = TRY(clear_setups_of(folder));
  if (trees.trees > 0) {
    text += format("removed {} ({}) in {}/trees\n", counted(trees.trees, "tree"),
                   megabytes(trees.bytes), shown);
  }
  if (objects.count > 0) {
    text += format("removed {} ({}) in {}/objects\n", counted(objects.count, "file"),
                   megabytes(objects.bytes), shown);
  }
  if (trees.in_use > 0)
    text += format("{} in use left in {}/trees\n", counted(trees.in_use, "tree"), shown);
  if (objects.in_use) text += format("all files in use left in {}/objects\n", shown);
  if (left.count > 0) {
    text += format("removed {} of killed jobs ({}) in {}\n", counted(left.count, "leftover"),
                   megabytes(left.bytes), shown);
  }
  // Empty now, unless a job runs.
  std::error_code not_empty;
  for (const char* below : {"/trees", "/checkouts", "/markers"})
    std::filesystem::remove(folder + below, not_empty);
  return text;
}

}  // namespace dt
