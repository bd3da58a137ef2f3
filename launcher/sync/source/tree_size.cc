#include "launcher/sync/source/tree_size.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/source/sync_patterns.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace dt {

namespace {

/// The files of a folder, which follow each other in a tree. Its path ends with a slash.
struct FolderRange {
  std::span<const FoundEntry> entries;
  std::string path;
};

uint64_t bytes_of(std::span<const FoundEntry> entries) {
  uint64_t bytes = 0;
  for (const FoundEntry& found : entries)
    bytes += found.entry.size;
  return bytes;
}

/// Splits a folder into its files and folders.
std::vector<FolderRange> parts_of(const FolderRange& folder) {
  std::vector<FolderRange> parts;
  const auto& all = folder.entries;
  for (size_t begin = 0; begin < all.size();) {
    const std::string_view path = all[begin].entry.path;
    const size_t slash = path.find('/', folder.path.size());
    const std::string_view part = path.substr(0, slash == path.npos ? slash : slash + 1);
    size_t end = begin + 1;
    while (part.ends_with('/') && end < all.size() && all[end].entry.path.starts_with(part))
      ++end;
    parts.push_back({.entries = all.subspan(begin, end - begin), .path = std::string(part)});
    begin = end;
  }
  return parts;
}

/// Returns the folder or file below this one that holds nearly all of its bytes, or itself.
LargeEntry heart_of(FolderRange range) {
  const uint64_t bytes = bytes_of(range.entries);
  while (range.path.ends_with('/')) {
    std::vector<FolderRange> parts = parts_of(range);
    const auto heart = std::ranges::find_if(
        parts, [&](const FolderRange& part) { return bytes_of(part.entries) * 10 >= bytes * 9; });
    if (parts.empty() || heart == parts.end()) break;
    range = std::move(*heart);
  }
  const bool folder = range.path.ends_with('/');
  if (folder) range.path.pop_back();
  return {.path = std::move(range.path), .bytes = bytes_of(range.entries), .folder = folder};
}

std::string largest_text(const std::vector<LargeEntry>& largest) {
  std::vector<std::string> texts;
  for (const LargeEntry& entry : largest)
    texts.push_back(format("{}{} ({})", printable(entry.path, 100), entry.folder ? "/" : "",
                           amount_text(entry.bytes)));
  return join(texts, ", ");
}

std::string count_text(const FoundTree& tree) {
  const size_t count = tree.entries.size();
  return format("{} {}, {}", count, count == 1 ? "file" : "files", amount_text(tree.total_bytes()));
}

/// Returns the options that leave out as many of the largest entries as are too much.
std::string excluding_options(const std::vector<LargeEntry>& largest, uint64_t too_much) {
  std::string options;
  uint64_t excluded = 0;
  for (const LargeEntry& entry : largest) {
    if (excluded >= too_much) break;
    excluded += entry.bytes;
    options += format("{}--sync-exclude {}", options.empty() ? "" : " ",
                      shell_quote(printable(literal_pattern(entry.path))));
  }
  return options;
}

}  // namespace

std::vector<LargeEntry> largest_entries(const FoundTree& tree, size_t count) {
  std::vector<LargeEntry> all;
  for (FolderRange& part : parts_of({.entries = tree.entries, .path = ""}))
    all.push_back(heart_of(std::move(part)));
  std::erase_if(all, [](const LargeEntry& entry) { return entry.bytes == 0; });
  std::ranges::stable_sort(all, std::ranges::greater(), &LargeEntry::bytes);
  if (all.size() > count) all.resize(count);
  return all;
}

std::string amount_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes == 1) return "1 byte";
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  while (amount >= 1024 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  const bool whole =
      unit == 0 || amount >= 100 || amount == static_cast<double>(static_cast<int>(amount));
  return whole ? format("{:.0f} {}", amount, units[unit])
               : format("{:.1f} {}", amount, units[unit]);
}

Result<> check_tree_size(const FoundTree& tree, uint64_t bytes_max) {
  const uint64_t total = tree.total_bytes();
  if (total <= bytes_max) return {};
  const std::vector<LargeEntry> largest = largest_entries(tree, shown_entries_max);
  return fail(Errc::input,
              format("--sync: the tree {} has {}; --sync-max allows {}\n"
                     "the largest: {}\n"
                     "leave out what the hosts do not need ({}), or allow more by --sync-max",
                     shell_quote(printable(tree.root)), count_text(tree), amount_text(bytes_max),
                     largest_text(largest), excluding_options(largest, total - bytes_max)));
}

std::string tree_text(const FoundTree& tree) {
  std::string text = format("sync: {} from {}", count_text(tree), printable(tree.root));
  if (!tree.commit.empty())
    text += format(", commit {}{}", tree.commit, tree.dirty ? " (dirty)" : "");
  text += '\n';
  const std::vector<LargeEntry> largest = largest_entries(tree, shown_entries_max);
  if (!largest.empty()) text += format("sync: the largest: {}\n", largest_text(largest));
  for (const std::string& warning : tree.warnings)
    text += format("{}\n", warning);
  return text;
}

}  // namespace dt
