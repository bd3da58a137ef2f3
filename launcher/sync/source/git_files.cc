#include "launcher/sync/source/git_files.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/source/plain_files.h"
#include "launcher/sync/source/program_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

namespace dt {

namespace {

constexpr size_t list_bytes_max = size_t{256} << 20;

std::string folder_of(const GitTree& tree) {
  return tree.place.empty() ? tree.root : format("{}/{}", tree.root, tree.place);
}

std::string below_root(const GitTree& tree, std::string_view path) {
  return tree.place.empty() ? std::string(path) : format("{}/{}", tree.place, path);
}

Result<ProgramRun> start_git(const GitTree& tree, std::vector<std::string> words) {
  // Optional locks would make a `git commit` of the user fail that runs at the same time.
  std::vector<std::string> command = {"git", "--no-optional-locks", "-c", "core.fsmonitor=false"};
  command.insert(command.end(), words.begin(), words.end());
  auto run = ProgramRun::start({.command = std::move(command),
                                .environment = tree.environment,
                                .folder = folder_of(tree),
                                .output_bytes_max = list_bytes_max,
                                .patience = seconds(600)});
  if (run || (run.error().code != Errc::not_found && run.error().code != Errc::not_runnable))
    return run;
  return fail(
      run.error().code,
      format("--sync: {} is a git tree, and its list of files needs git: {}; install git, or "
             "name a folder that is no git tree by --sync-from",
             shell_quote(printable(folder_of(tree))), run.error().message));
}

Result<std::string> output_of(const GitTree& tree, ProgramRun& run) {
  ProgramEnd end = TRY(run.finish());
  if (end.status.good()) return std::move(end.output);
  std::vector<std::string> lines;
  for (const std::string_view line : split(end.messages, '\n')) {
    // git indents a command that it recommends.
    if (!trim(line).empty() && lines.size() < 6) lines.push_back(printable(trim(line), 400));
  }
  const std::string said = lines.empty() ? end.status.text() : join(lines, " ");
  return fail(Errc::input, format("--sync: git cannot list the files of {}: {}; `git status` there "
                                  "shows the same, and --sync-from names another folder",
                                  shell_quote(printable(folder_of(tree))), said));
}

void read_list(std::string_view list, const GitTree& tree, GitFiles& files) {
  // Each item is "H path": a tag, a blank and the path.
  constexpr size_t tag_bytes = 2;
  constexpr std::string_view untracked = "? ";
  while (!list.empty()) {
    const size_t end = std::min(list.find('\0'), list.size());
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (item.size() <= tag_bytes) continue;
    const std::string_view path = item.substr(tag_bytes);
    if (path.ends_with('/')) {
      files.repositories.push_back(below_root(tree, path.substr(0, path.size() - 1)));
      continue;
    }
    files.dirty = files.dirty || item.starts_with(untracked);
    files.paths.push_back(below_root(tree, path));
  }
}

void read_status(std::string_view text, GitFiles& files) {
  constexpr std::string_view commit = "# branch.oid ";
  for (const std::string_view item : split(text, '\0')) {
    if (item.starts_with(commit) && item != "# branch.oid (initial)")
      files.commit = item.substr(commit.size());
    files.dirty = files.dirty || (!item.empty() && !item.starts_with('#'));
  }
}

/// Adds ignored files that a pattern includes. git names a folder whose files are all ignored, and
/// only those where something may be included are searched.
Result<> add_included(const GitTree& tree, const SyncPatterns& patterns, GitFiles& files) {
  auto run = TRY(start_git(
      tree, {"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}));
  const std::string list = TRY(output_of(tree, run));
  std::vector<std::string> folders;
  for (const std::string_view item : split(list, '\0')) {
    if (item.empty()) continue;
    std::string path = below_root(tree, item);
    const bool folder = path.ends_with('/');
    if (folder) path.pop_back();
    if (folder && patterns.may_include_below(path))
      folders.push_back(std::move(path));
    else if (!folder && patterns.includes(path))
      files.paths.push_back(std::move(path));
  }
  for (const std::string& repository : files.repositories) {
    if (patterns.may_include_below(repository)) folders.push_back(repository);
  }
  for (const std::string& folder : folders) {
    PlainFiles below = TRY(list_included_files(tree.root, folder, patterns));
    std::ranges::move(below.paths, std::back_inserter(files.paths));
  }
  std::erase_if(files.repositories,
                [&](const std::string& repository) { return patterns.includes(repository); });
  return {};
}

bool exists(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

bool has_git(const std::string& folder) {
  const std::string git = folder + "/.git";
  struct stat status = {};
  return ::stat(git.c_str(), &status) == 0 && (!S_ISDIR(status.st_mode) || exists(git + "/HEAD"));
}

std::optional<std::string> find_git_root(const std::string& folder) {
  std::optional<std::string> doubtful;
  std::filesystem::path here(folder);
  while (true) {
    if (has_git(here.string())) return here.string();
    if (!doubtful && exists((here / ".git").string())) doubtful = here.string();
    if (here == here.root_path()) return doubtful;
    here = here.parent_path();
  }
}

Environment git_environment(const Environment& environment) {
  // The user's settings, and how git reaches other hosts. All others, such as those that git sets
  // for a hook, would choose what we choose here.
  constexpr std::array<std::string_view, 10> kept = {
      "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT",
      "GIT_CONFIG_KEY_",   "GIT_CONFIG_VALUE_", "GIT_EXEC_PATH",       "GIT_SSH",
      "GIT_SSL_",          "GIT_HTTP_"};
  Environment result = environment;
  std::erase_if(result, [&](const auto& variable) {
    const std::string_view name = variable.first;
    return name.starts_with("GIT_") && std::ranges::none_of(kept, [&](std::string_view beginning) {
             return name.starts_with(beginning);
           });
  });
  result["GIT_TERMINAL_PROMPT"] = "0";
  result["LC_ALL"] = "C";
  result.erase("LANGUAGE");
  return result;
}

Result<GitFiles> list_git_files(const GitTree& tree, const SyncPatterns& patterns) {
  // With tags, git lists a file with a conflict several times.
  auto list =
      TRY(start_git(tree, {"ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard"}));
  GitFiles files;
  if (tree.place.empty()) {
    // Both read the files' facts, so they run beside each other.
    auto status =
        TRY(start_git(tree, {"status", "-z", "--porcelain=v2", "--branch", "--no-ahead-behind",
                             "--untracked-files=no", "--ignore-submodules=none", "--no-renames"}));
    const std::string paths = TRY(output_of(tree, list));
    read_list(paths, tree, files);
    const std::string changes = TRY(output_of(tree, status));
    read_status(changes, files);
  } else {
    const std::string paths = TRY(output_of(tree, list));
    read_list(paths, tree, files);
  }
  if (patterns.has_included()) TRY(add_included(tree, patterns, files));
  return files;
}

}  // namespace dt
