#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/io/fd.h"
#include "launcher/sync/manifest.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace dt {

/// Reads the files of a tree for sending, one after the other, and checks that their contents are
/// those of the manifest.
class TreeReader {
 public:
  static constexpr size_t piece_bytes_max = size_t{64} << 10;

  static Result<TreeReader> open(const std::string& root);

  /// Begins to read a file of the manifest. Follows no link. Fails with Errc::mismatch if the file
  /// is gone or something else now.
  Result<> begin(const TreeEntry& entry);
  /// Returns the next bytes of the file, valid until the next call; empty at its end. Fails with
  /// Errc::mismatch, and names the file, if its content is not that of the manifest. This is known
  /// only at the end: all bytes before may be wrong, too.
  Result<ByteSpan> read();

 private:
  explicit TreeReader(Fd root) : root_(std::move(root)), piece_(piece_bytes_max) {}
  tl::unexpected<Error> fail_changed() const;

  Fd root_;
  Bytes piece_;
  TreeEntry entry_;
  Fd file_;
  Sha256 sha_;
  uint64_t bytes_ = 0;  ///< of the file, read until now
};

}  // namespace dt
