#include "launcher/sync/source/find_tree.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/source/git_files.h"
#include "launcher/sync/source/plain_files.h"
#include "launcher/sync/source/sync_patterns.h"
#include "launcher/sync/source/tree_entries.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace dt {

namespace {

namespace fs = std::filesystem;

/// Returns the folder that the user names, absolute and without links.
Result<std::string> wanted_folder(const SyncOptions& options, const UserPlace& place) {
  const bool named = !options.from.empty();
  if (place.folder.empty() && !options.from.starts_with('/'))
    return fail(Errc::input,
                "--sync: the current folder has been removed; enter it again, or name a folder by "
                "--sync-from");
  const fs::path path = named ? fs::path(place.folder) / options.from : fs::path(place.folder);
  const std::string shown =
      format("{} {}", named ? "--sync-from" : "--sync", shell_quote(printable(path.string())));
  std::error_code fault;
  const fs::path real = fs::canonical(path, fault);
  if (fault == std::errc::no_such_file_or_directory)
    return fail(Errc::input, shown + ": there is no such folder here");
  if (fault == std::errc::not_a_directory)
    return fail(Errc::input, shown + ": a part of this path is a file");
  if (fault) return fail(Errc::input, format("{}: {}", shown, fault.message()));
  if (!fs::is_directory(real, fault))
    return fail(Errc::input, shown + ": this is a file; name the folder that holds it");
  return real.string();
}

bool is_or_holds(const std::string& folder, const std::string& inner) {
  return inner == folder || inner.starts_with(folder == "/" ? folder : folder + "/");
}

std::string real_home(const UserPlace& place) {
  const auto home = place.environment.find("HOME");
  if (home == place.environment.end() || home->second.empty()) return "";
  std::error_code fault;
  const fs::path real = fs::canonical(home->second, fault);
  return fault ? "" : real.string();
}

Result<> check_root(const std::string& root, bool git, const UserPlace& place) {
  if (root == "/")
    return fail(Errc::input,
                "--sync would send all of '/'; name the folder of the code by --sync-from DIR");
  const std::string home = real_home(place);
  if (!git && !home.empty() && is_or_holds(root, home))
    return fail(
        Errc::input,
        format("--sync would send all of the home: {} is no git tree and holds {}; name the "
               "folder of the code by --sync-from DIR",
               shell_quote(printable(root)), shell_quote(printable(home))));
  return {};
}

bool is_own(std::string_view path) {
  return path == Manifest::own_folder || path.starts_with(std::string(Manifest::own_folder) + "/");
}

/// Lists one tree after the other: the root, its submodules, and theirs.
class TreeSearch {
 public:
  TreeSearch(const SyncPatterns& patterns, TreeEntries& entries, FoundTree& tree)
      : patterns_(patterns), entries_(entries), tree_(tree) {}

  Result<> add_plain() {
    PlainFiles files = TRY(list_plain_files(tree_.root, patterns_));
    std::erase_if(files.paths, is_own);
    std::erase_if(files.empty_folders, is_own);
    std::ranges::sort(files.paths);
    TRY(entries_.add(files.paths));
    for (std::string& folder : files.empty_folders)
      entries_.add_empty_folder(std::move(folder));
    for (std::string& folder : files.unreadable)
      entries_.add_unreadable(std::move(folder));
    return {};
  }

  Result<> add_git(const Environment& environment) {
    std::vector<GitTree> waiting = {{.root = tree_.root, .environment = environment}};
    while (!waiting.empty()) {
      GitTree git = std::move(waiting.back());
      waiting.pop_back();
      const std::vector<std::string> submodules = TRY(add_tree(git));
      for (const std::string& submodule : submodules) {
        git.place = submodule;
        waiting.push_back(git);
      }
    }
    std::ranges::sort(repositories_);
    std::ranges::sort(absent_);
    if (!repositories_.empty())
      tree_.warnings.push_back(
          format("--sync leaves out {}: {}; --sync-include with such a name takes it",
                 repositories_.size() == 1
                     ? "1 git repository that is no submodule"
                     : format("{} git repositories that are no submodules", repositories_.size()),
                 some_names(repositories_)));
    if (!absent_.empty())
      tree_.warnings.push_back(
          format("--sync finds no files of the {} {}; `git submodule update --init` gets them",
                 absent_.size() == 1 ? "submodule" : "submodules", some_names(absent_)));
    return {};
  }

 private:
  /// Returns the submodules of the tree that have files here.
  Result<std::vector<std::string>> add_tree(const GitTree& git) {
    GitFiles files = TRY(list_git_files(git, patterns_));
    if (git.place.empty()) tree_.commit = files.commit;
    tree_.dirty = tree_.dirty || files.dirty;
    std::erase_if(files.paths, [&](const std::string& path) { return is_left_out(path); });
    std::erase_if(files.repositories,
                  [&](const std::string& path) { return patterns_.excludes(path); });
    std::ranges::move(files.repositories, std::back_inserter(repositories_));
    std::ranges::sort(files.paths);
    const auto twice = std::ranges::unique(files.paths);
    files.paths.erase(twice.begin(), twice.end());
    std::vector<std::string> submodules = TRY(entries_.add(files.paths));
    std::erase_if(submodules, [&](const std::string& path) {
      if (has_git(format("{}/{}", tree_.root, path))) return false;
      // A folder that stands in the place of a tracked file has files of its own.
      const std::string below = path + "/";
      const auto next = std::ranges::lower_bound(files.paths, below);
      if (next == files.paths.end() || !next->starts_with(below)) absent_.push_back(path);
      return true;
    });
    return submodules;
  }

  /// False for an excluded submodule that may have included files.
  bool is_left_out(const std::string& path) const {
    if (is_own(path)) return true;
    return patterns_.excludes(path) &&
           !(patterns_.may_include_below(path) && has_git(format("{}/{}", tree_.root, path)));
  }

  const SyncPatterns& patterns_;
  TreeEntries& entries_;
  FoundTree& tree_;
  std::vector<std::string> repositories_;
  std::vector<std::string> absent_;
};

/// Returns the place of the current folder below the root, or nothing.
std::string place_below(const std::string& root, const UserPlace& place) {
  std::error_code fault;
  const std::string real = fs::canonical(place.folder, fault).string();
  return fault || real == root || !is_or_holds(root, real) ? "" : real.substr(root.size() + 1);
}

}  // namespace

Result<FoundTree> find_tree(const SyncOptions& options, const UserPlace& place) {
  const std::string folder = TRY(wanted_folder(options, place));
  const std::optional<std::string> git_root = find_git_root(folder);
  FoundTree tree;
  tree.root = git_root.value_or(folder);
  TRY(check_root(tree.root, git_root.has_value(), place));
  tree.place = place_below(tree.root, place);
  const SyncPatterns patterns(options.excluded, options.included);
  TreeEntries entries = TRY(TreeEntries::open(tree.root));
  TreeSearch search(patterns, entries, tree);
  if (git_root)
    TRY(search.add_git(git_environment(place.environment)));
  else
    TRY(search.add_plain());
  TRY(entries.finish(options.strict, tree));
  return tree;
}

}  // namespace dt
