#pragma once

#include "launcher/sync/source/found_tree.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// A file or a folder of a tree, and the bytes that it holds.
struct LargeEntry {
  std::string path;
  uint64_t bytes = 0;
  bool folder = false;
  bool operator==(const LargeEntry&) const = default;
};

/// How many of the largest entries people see.
inline constexpr size_t shown_entries_max = 10;

/// Returns the largest files and folders, at most `count` of them, the largest first. None of them
/// lies in another one. In the place of a folder stands the one below it that holds nearly all of
/// its bytes.
std::vector<LargeEntry> largest_entries(const FoundTree& tree, size_t count);

/// Returns "60 MiB", "2.5 GiB", "12 bytes".
std::string amount_text(uint64_t bytes);

/// Fails with Errc::input above this limit (--sync-max), with the largest entries and the options
/// that exclude them.
Result<> check_tree_size(const FoundTree& tree, uint64_t bytes_max);

/// Returns the lines that --dry-run prints: count, bytes, commit, the largest entries, and what is
/// left out. Each line ends with a newline.
std::string tree_text(const FoundTree& tree);

}  // namespace dt
