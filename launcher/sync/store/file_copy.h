#pragma once

#include "base/crypto.h"
#include "base/result.h"

#include <cstdint>

namespace dt {

/// Copies files as fast as the file system can.
class FileCopier {
 public:
  /// Makes the empty file `to` a copy of `from`, which has `size` bytes: by sharing its blocks
  /// (FICLONE) where the file system can, and never by a hard link. Fails with Errc::not_found if
  /// `from` has another size.
  Result<> copy(int from, int to, uint64_t size);

 private:
  bool shares_blocks_ = true;  ///< until the file system refuses
};

/// Waits until a remote file system has the bytes: only then does it report a full disk or a
/// quota. A local one has reported it when the bytes were written.
Result<> flush_if_remote(int fd);

/// Returns the digest of an open file's content.
Result<Digest> content_digest(int fd);

}  // namespace dt
