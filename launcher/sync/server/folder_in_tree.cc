#include "launcher/sync/server/folder_in_tree.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <filesystem>

namespace dt {

namespace fs = std::filesystem;

namespace {

using Entries = std::vector<TreeEntry>;

/// Returns the entry with this path, or the first behind it.
Entries::const_iterator entry_from(const Entries& entries, std::string_view path) {
  return std::ranges::lower_bound(
      entries, path, {}, [](const TreeEntry& entry) { return std::string_view(entry.path); });
}

/// Returns the entry with this path; null: there is none.
const TreeEntry* find_entry(const Entries& entries, std::string_view path) {
  const auto found = entry_from(entries, path);
  return found != entries.end() && found->path == path ? &*found : nullptr;
}

/// True if the folder or one above it is a link of the tree.
bool is_behind_link(const Entries& entries, std::string_view folder) {
  for (size_t end = 0; end != std::string_view::npos;) {
    end = folder.find('/', end == 0 ? 0 : end + 1);
    const TreeEntry* const entry = find_entry(entries, folder.substr(0, end));
    if (entry != nullptr && entry->kind == TreeEntry::Kind::link) return true;
  }
  return false;
}

bool has_folder(const Entries& entries, std::string_view folder) {
  const TreeEntry* const entry = find_entry(entries, folder);
  if (entry != nullptr) return entry->kind != TreeEntry::Kind::file;
  const std::string below = std::string(folder) + "/";
  const auto first = entry_from(entries, below);
  return (first != entries.end() && first->path.starts_with(below)) ||
         is_behind_link(entries, folder);
}

}  // namespace

Result<std::string> folder_in_tree(const TreeFacts& tree, const std::optional<std::string>& chdir) {
  if (!chdir) return tree.place;
  fs::path folder = fs::path(tree.place) / *chdir;
  if (folder.is_absolute()) {
    // The root has no links in its path, and the user may have written some.
    std::error_code failed;
    const fs::path resolved = fs::weakly_canonical(folder, failed);
    folder = (failed ? folder : resolved).lexically_relative(tree.root);
  }
  const std::string below = folder.lexically_normal().native();
  if (below.empty() || below == ".." || below.starts_with("../")) {
    return fail(Errc::input,
                format("--chdir {} is not in {}, the tree of --sync",
                       shell_quote(printable(*chdir)), shell_quote(printable(tree.root))));
  }
  return below == "." ? std::string() : below;
}

Result<> check_folder_in_copy(const Manifest& manifest, std::string_view folder,
                              const std::optional<std::string>& chdir) {
  while (folder.ends_with('/'))
    folder.remove_suffix(1);
  if (folder.empty() || has_folder(manifest.entries, folder)) return {};
  const std::string shown = shell_quote(printable(folder));
  if (find_entry(manifest.entries, folder) != nullptr)
    return fail(Errc::input, format("--chdir: {} is a file in the tree of --sync", shown));
  return fail(
      Errc::input,
      format("{} {} is not among the files of --sync (git ignores it, --sync-exclude has it, or it "
             "has no files); {}, or take it with --sync-include {}",
             chdir ? "--chdir: the folder" : "the current folder", shown,
             chdir ? "use another" : "cd elsewhere, use --chdir", shown));
}

}  // namespace dt
