#include "launcher/sync/source/tree_entries.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/source/folder_below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dt {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Asks the kernel only where the mode leaves a doubt.
bool is_readable(const Fd& folder, const std::string& name, const struct stat& status) {
  if (status.st_uid == ::geteuid() && (status.st_mode & S_IRUSR) != 0) return true;
  return ::faccessat(folder.get(), name.c_str(), R_OK, AT_EACCESS) == 0;
}

/// Returns the target of a link, or nothing where it is none any more.
std::string target_of(const Fd& folder, const std::string& name) {
  std::array<char, Manifest::path_bytes_max + 1> target;
  const ssize_t size = ::readlinkat(folder.get(), name.c_str(), target.data(), target.size());
  return size < 0 ? "" : std::string(target.data(), static_cast<size_t>(size));
}

}  // namespace

uint64_t FoundTree::total_bytes() const {
  uint64_t total = 0;
  for (const FoundEntry& found : entries)
    total += found.entry.size;
  return total;
}

std::string some_names(const std::vector<std::string>& names) {
  constexpr size_t shown_max = 3;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), shown_max); ++i)
    shown.push_back(format("'{}'", printable(names[i])));
  const std::string text = join(shown, ", ");
  return names.size() <= shown_max ? text
                                   : format("{} and {} more", text, names.size() - shown_max);
}

Result<TreeEntries> TreeEntries::open(const std::string& root) {
  Fd opened = TRY(open_tree_root(root));
  return TreeEntries(root, std::move(opened));
}

Result<std::vector<std::string>> TreeEntries::add(const std::vector<std::string>& paths) {
  folders_.clear();
  std::string open_folder;
  bool refused = false;
  Fd folder = open_folder_below(root_, "");
  if (!folder) return fail_errno(format("cannot open the folder '{}'", printable(root_path_)));
  for (const std::string& path : paths) {
    std::string wanted = folder_of(path);
    if (wanted != open_folder) {
      folder = open_folder_below(root_, wanted);
      refused = !folder && errno == EACCES;
      open_folder = std::move(wanted);
    }
    if (folder) TRY(add_one(path, folder));
    if (refused) unreadable_.push_back(path);
  }
  return std::move(folders_);
}

Result<> TreeEntries::add_one(const std::string& path, const Fd& folder) {
  const std::string name = name_of(path);
  struct stat status = {};
  if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    unreadable_.push_back(path);
    return {};
  }
  if (entries_.size() >= Manifest::entries_max)
    return fail(Errc::input, format("--sync: the tree {} has more than {} files; leave some out by "
                                    "--sync-exclude, or name another folder by --sync-from",
                                    shell_quote(printable(root_path_)), Manifest::entries_max));
  FoundEntry found = {.entry = {.path = path}, .facts = {}};
  if (S_ISDIR(status.st_mode)) {
    folders_.push_back(path);
    return {};
  }
  if (S_ISLNK(status.st_mode)) {
    found.entry.kind = TreeEntry::Kind::link;
    found.entry.target = target_of(folder, name);
    if (!found.entry.target.empty()) entries_.push_back(std::move(found));
    return {};
  }
  if (!S_ISREG(status.st_mode)) {
    special_.push_back(path);
    return {};
  }
  if (!is_readable(folder, name, status)) {
    unreadable_.push_back(path);
    return {};
  }
  found.entry.executable = (status.st_mode & S_IXUSR) != 0;
  found.entry.size = static_cast<uint64_t>(status.st_size);
  found.facts = facts_of(status);
  entries_.push_back(std::move(found));
  return {};
}

void TreeEntries::add_empty_folder(std::string path) {
  entries_.push_back(
      {.entry = {.path = std::move(path), .kind = TreeEntry::Kind::folder}, .facts = {}});
}

void TreeEntries::leave_out_escaping_links(std::vector<std::string>& left_out) {
  const auto find = [this](std::string_view path) {
    const auto at = std::ranges::lower_bound(entries_, path, {}, [](const FoundEntry& found) {
      return std::string_view(found.entry.path);
    });
    return at != entries_.end() && at->entry.path == path ? &at->entry : nullptr;
  };
  const LinkTest is_link = [&](std::string_view path) {
    const TreeEntry* const entry = find(path);
    return entry != nullptr && entry->kind == TreeEntry::Kind::link;
  };
  for (const FoundEntry& found : entries_) {
    if (found.entry.kind == TreeEntry::Kind::link && !link_escape(found.entry, is_link).empty())
      left_out.push_back(found.entry.path);
  }
  std::erase_if(entries_, [&](const FoundEntry& found) {
    return std::ranges::binary_search(left_out, found.entry.path);
  });
}

Result<> TreeEntries::finish(bool strict, FoundTree& tree) {
  const auto path_of = [](const FoundEntry& found) { return std::string_view(found.entry.path); };
  std::ranges::sort(entries_, {}, path_of);
  const auto twice = std::ranges::unique(entries_, {}, path_of);
  entries_.erase(twice.begin(), twice.end());
  std::vector<std::string> escaping;
  leave_out_escaping_links(escaping);
  if (strict && !escaping.empty())
    return fail(Errc::input,
                format("--sync-strict: {} of the tree {} leave it: {}; make them relative links to "
                       "files of the tree, or leave them out by --sync-exclude",
                       escaping.size() == 1 ? "1 link" : format("{} links", escaping.size()),
                       shell_quote(printable(root_path_)), some_names(escaping)));
  const auto warn = [&](const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty())
      tree.warnings.push_back(
          format("--sync leaves out {} {}: {}", names.size(), what, some_names(names)));
  };
  warn(escaping, escaping.size() == 1 ? "link that leaves the tree" : "links that leave the tree");
  std::ranges::sort(special_);
  warn(special_, special_.size() == 1 ? "socket, device or FIFO" : "sockets, devices or FIFOs");
  std::ranges::sort(unreadable_);
  warn(unreadable_,
       unreadable_.size() == 1 ? "file that cannot be read" : "files that cannot be read");
  tree.entries = std::move(entries_);
  return {};
}

}  // namespace dt
