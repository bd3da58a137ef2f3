#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A name in an open folder. Both are valid until the walk's next call.
struct WalkedName {
  int folder = -1;
  const char* name = "";
};

/// Opens folders below a root part by part, and follows no link: a task may have replaced a folder
/// by a link to another place. Paths in their order are fast, since open folders are kept, and the
/// last one that enter() missed is known.
class FolderWalk {
 public:
  explicit FolderWalk(int root) : root_(root) {}

  /// Opens the parent of a path, which must live until the next call. Fails with Errc::not_found
  /// where a folder is missing. Fails with Errc::refused where something else has its name, which
  /// blocked() names. Fails with Errc::input for a path that may not be below a root.
  Result<WalkedName> enter(const std::string& path);
  /// The same, and makes missing folders.
  Result<WalkedName> make(const std::string& path);
  /// The path that was no folder in the last enter() or make().
  const std::string& blocked() const { return blocked_; }

 private:
  struct Open {
    std::string name;
    Fd folder;
  };
  Result<WalkedName> walk(const std::string& path, bool make_missing);
  Result<> open_next(std::string_view below, bool make_missing);

  int root_;
  std::vector<Open> open_ = {};
  std::string blocked_ = {};
  std::string missing_ = {};  ///< with a "/" at its end; empty: none
};

/// Returns why a path may not be below a root. Refuses those that are absolute, empty or too deep,
/// that have an empty part, "." or "..", or that begin with dtrain's own folder. Empty for a good
/// one.
std::string_view path_fault(std::string_view path);

/// Returns a path for a message, up to the longest that Linux has.
std::string printable_path(std::string_view path);

/// Removes a name and all below it, and follows no link. Nothing there is no failure. Folders
/// without rights for their owner get them.
Result<> remove_tree(int folder, const char* name);
Result<> remove_tree(const std::string& path);

/// Removes a folder if it holds nothing but empty folders and caches of Python (`__pycache__`).
/// Returns true where nothing is left, and false if it holds more: then only caches and empty
/// folders have been removed.
bool remove_empty_folder(int folder, const char* name);

/// True for a link with this target.
bool has_target(const WalkedName& at, const std::string& target);

/// Opens a folder to list it, and follows no link at its end.
Fd open_folder(int folder, const char* name);
/// Returns the names in an open folder, sorted.
Result<std::vector<std::string>> names_in(int folder);

}  // namespace dt
