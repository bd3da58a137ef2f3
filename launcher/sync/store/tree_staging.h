#pragma once

#include "base/crypto.h"
#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/content_writer.h"
#include "launcher/sync/store/tree_index.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace dt {

/// The folder beside a target in which files wait for their renames, each under the number of its
/// entry. Contents that arrive are written here, so that each file is made once.
class TreeStaging {
 public:
  explicit TreeStaging(std::string path) : path_(std::move(path)) {}

  /// A tree that may have contents at other paths.
  struct Source {
    int root = -1;                           ///< open
    const TreeIndex& known;                  ///< the entries that dtrain has put there
    std::function<void()> on_progress = {};  ///< called for each file that is read
  };

  /// Makes the folder, unless that was done since clear(). Takes contents that the entries
  /// `numbers` need, from a transfer that was cut and from `source`. Each is read, and compared
  /// with its digest.
  Result<> open(const Manifest& manifest, std::span<const size_t> numbers, const Source& source);
  const std::string& path() const { return path_; }

  /// Returns the entry whose file has this content; none: it is not here.
  std::optional<size_t> find(const Digest& content) const;
  /// Returns the writer of an entry's file. Call add() after its commit().
  Result<ContentWriter> create(const Manifest& manifest, size_t number) const;
  void add(const Manifest& manifest, size_t number);

  /// Removes all files but the contents that are here.
  void clear_others();
  /// Removes the folder.
  void clear();

 private:
  using Wanted = std::map<Digest, size_t>;
  void take_left(const Source& source, const Manifest& manifest, const Wanted& wanted);
  void take_from(const Source& source, const Manifest& manifest, const Wanted& wanted);
  std::string left_path() const { return path_ + ".left"; }

  std::string path_;
  bool is_open_ = false;
  std::map<Digest, size_t> numbers_ = {};  ///< of contents that are here
};

/// The name of an entry's file in the folder.
std::string staged_name(size_t number);

}  // namespace dt
