#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The patterns of --sync-exclude and --sync-include: fnmatch(3) without flags on the path below
/// the root, so "*" matches "/", too. A pattern that matches a folder holds for all below it;
/// slashes at its end are ignored. Included wins.
class SyncPatterns {
 public:
  SyncPatterns(const std::vector<std::string>& excluded, const std::vector<std::string>& included);

  /// True if a pattern includes this path or a folder above it.
  bool includes(std::string_view path) const;
  /// True if a pattern excludes this path or a folder above it, and none includes it.
  bool excludes(std::string_view path) const;
  /// True if a pattern may include something below this folder: one that matches it or a folder
  /// above it, or one that begins like a path below it.
  bool may_include_below(std::string_view folder) const;
  bool has_included() const { return !included_.empty(); }

 private:
  std::vector<std::string> excluded_;
  std::vector<std::string> included_;
};

/// Returns the pattern that matches this path alone.
std::string literal_pattern(std::string_view path);

}  // namespace dt
