#pragma once

#include "base/io/fd.h"
#include "base/wall_time.h"
#include "launcher/sync/source/digest_memory.h"
#include "launcher/sync/source/found_tree.h"

#include <cstdint>
#include <functional>
#include <string>

namespace dt {

/// How a manifest was made.
struct HashedFiles {
  uint64_t files = 0;  ///< whose content was read
  uint64_t bytes = 0;
  bool operator==(const HashedFiles&) const = default;
};

struct MadeManifest {
  Manifest manifest;
  HashedFiles hashed;
};

/// Makes the manifest of a tree: hashes the files whose digest the memory lacks, and keeps the
/// digests in it. Sizes are those of the hashed contents. A file that changes while it is read is
/// read again. Fails with Errc::input, and names the file, if it changed three times, has become
/// something else, or is gone. Fails also as check_manifest() does.
Result<MadeManifest> make_manifest(const FoundTree& tree, DigestMemory& memory,
                                   WallClock::time_point now);

/// Called between the pieces of a file that is read, with the bytes read until then.
using PieceRead = std::function<void(uint64_t bytes)>;

/// The content of one file below the root, as it was hashed.
struct HashedContent {
  FileFacts facts;
  bool executable = false;
  Digest digest = {};
};
Result<HashedContent> hash_file(const Fd& root, const std::string& path,
                                const PieceRead& on_piece = {});

}  // namespace dt
