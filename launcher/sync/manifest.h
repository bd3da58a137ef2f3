#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One file, symbolic link or empty folder of a tree. Folders with entries have none of their own.
struct TreeEntry {
  enum class Kind : uint8_t { file, link, folder };
  std::string path;  ///< below the tree's root: names of any bytes but "/" and NUL
  Kind kind = Kind::file;
  bool executable = false;  ///< of a file: its owner may execute it
  uint64_t size = 0;        ///< of a file, in bytes
  Digest digest = {};       ///< SHA-256 of a file's content
  std::string target = {};  ///< of a link
  bool operator==(const TreeEntry&) const = default;
};

/// The list of a tree's files: the contract between the launcher, which has the tree, and the hosts
/// that get a copy. Entries are in the order of the bytes of their paths.
struct Manifest {
  static constexpr size_t entries_max = 500'000;
  static constexpr size_t bytes_max = size_t{64} << 20;  ///< encoded
  static constexpr size_t path_bytes_max = 4095;
  static constexpr size_t name_bytes_max = 255;  ///< of one part of a path
  static constexpr uint64_t file_bytes_max = uint64_t{256} << 30;
  static constexpr uint64_t total_bytes_max = uint64_t{512} << 30;
  /// The name below the root that belongs to dtrain: no entry may have it as its first part.
  static constexpr std::string_view own_folder = ".dtrain";

  std::vector<TreeEntry> entries;

  uint64_t total_bytes() const;
  bool operator==(const Manifest&) const = default;
};

/// Why a link with this target at this path leaves the tree: it is absolute, or has more ".." than
/// folders above it. Empty if it stays inside, as long as no part of the target is a link.
std::string link_escape(std::string_view path, std::string_view target);

/// True for the path of a symbolic link of the tree.
using LinkTest = std::function<bool(std::string_view path)>;
/// The same, also for targets that go up behind another link: "d/../x" leaves the tree where "d" is
/// a link to ".".
std::string link_escape(const TreeEntry& link, const LinkTest& is_link);

/// Fails with Errc::input, and names the entry, if a copy would not stay inside its root. It
/// refuses paths that are absolute, empty, or have an empty part, "." or "..". It refuses entries
/// below other entries, and links that leave the tree. It also refuses entries that are twice there
/// or out of order, and those above the limits.
Result<> check_manifest(const Manifest& manifest);

Bytes encode(const Manifest& manifest);
/// Reads a manifest back, and checks it. Fails with Errc::protocol for bytes that are none, and as
/// check_manifest() does.
Result<Manifest> decode_manifest(ByteSpan bytes);

}  // namespace dt
