#pragma once

#include "base/io/fd.h"
#include "launcher/sync/source/found_tree.h"

#include <string>
#include <utility>
#include <vector>

namespace dt {

/// Makes the entries of a tree from paths below its root: reads their facts, and collects what is
/// left out.
class TreeEntries {
 public:
  static Result<TreeEntries> open(const std::string& root);

  /// Adds files and links. Skips paths that are not there, or lie behind a link. Requires paths in
  /// their order. Returns those that are folders.
  Result<std::vector<std::string>> add(const std::vector<std::string>& paths);
  void add_empty_folder(std::string path);
  /// Counts something that cannot be read.
  void add_unreadable(std::string path) { unreadable_.push_back(std::move(path)); }
  /// Moves entries and warnings to the tree. Fails with Errc::input above the limit of entries, and
  /// with `strict` for a link that leaves the tree.
  Result<> finish(bool strict, FoundTree& tree);

 private:
  explicit TreeEntries(std::string root_path, Fd root)
      : root_path_(std::move(root_path)), root_(std::move(root)) {}
  Result<> add_one(const std::string& path, const Fd& folder);
  void leave_out_escaping_links(std::vector<std::string>& left_out);

  std::string root_path_;
  Fd root_;
  std::vector<FoundEntry> entries_;
  std::vector<std::string> folders_;
  std::vector<std::string> special_;
  std::vector<std::string> unreadable_;
};

/// Returns "'a', 'b', 'c' and 4 more" for a message.
std::string some_names(const std::vector<std::string>& names);

}  // namespace dt
