#pragma once

#include "base/clock.h"
#include "base/wall_time.h"
#include "launcher/sync/source/found_tree.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// The digests of a tree's files, as they were hashed before. A file whose facts are the same has
/// the same content, unless it changed within `settling` of being hashed: such a digest is not
/// kept.
class DigestMemory {
 public:
  static constexpr Duration settling = seconds(2);
  static constexpr size_t bytes_max = size_t{128} << 20;
  static constexpr size_t trees_max = 64;

  /// Reads what is known of this tree from a file in the folder. A file that is missing, torn or of
  /// another tree is an empty memory.
  static DigestMemory load(const std::string& folder, const std::string& root);

  std::optional<Digest> find(std::string_view path, const FileFacts& facts) const;
  /// Keeps the digest of a file for save(), if it has settled. `hashed` is when the reading began.
  void keep(const std::string& path, const FileFacts& facts, const Digest& digest,
            WallClock::time_point hashed);
  /// Keeps a digest of find() for save().
  void keep_known(const std::string& path, const FileFacts& facts, const Digest& digest);
  /// Writes the kept digests, and only those, if they are other ones than before. Removes the
  /// memories of trees that were used longest ago, above trees_max.
  Result<> save();

  /// The memory of one file.
  struct Known {
    std::string path;
    FileFacts facts;
    Digest digest = {};
    bool operator==(const Known&) const = default;
  };

 private:
  DigestMemory(std::string file, std::string root)
      : file_(std::move(file)), root_(std::move(root)) {}

  std::string file_;
  std::string root_;
  std::vector<Known> known_;  ///< in the order of paths
  std::vector<Known> kept_;
};

}  // namespace dt
