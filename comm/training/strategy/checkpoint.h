#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/io/atomic_file.h"
#include "base/io/file.h"
#include "base/kernels/element.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// The file of a checkpoint begins with "dtrain checkpoint 1\n". Each variable follows, with its
// name, type, count, values and digest. An empty name, the number of variables and a digest of all
// digests end it. The values are those of variables, not of replicas: each strategy can read them.

/// A variable of a checkpoint. `value` belongs to the file or to the caller.
struct CheckpointEntry {
  std::string name = {};
  ElementType type = ElementType::float32;
  uint64_t count = 0;
  ByteSpan value = {};
};

/// Writes a checkpoint, which replaces an older one at the end (AtomicFile).
class CheckpointWriter {
 public:
  /// Fails with Errc::os, and names the file.
  static Result<CheckpointWriter> create(const std::string& path);

  Result<> add(const CheckpointEntry& entry);
  /// Returns when the file has its name and is on the disk.
  Result<> finish();

 private:
  explicit CheckpointWriter(AtomicFile file);
  Result<> write(ByteSpan bytes) const;

  AtomicFile file_;
  Hmac hmac_;
  Bytes digests_ = {};
  uint32_t entries_ = 0;
};

/// A checkpoint that is complete and undamaged.
class CheckpointFile {
 public:
  /// Fails with Errc::input for a file that is no checkpoint, of another version, truncated or
  /// damaged. Fails with Errc::not_found or Errc::os, too. Errors name the file.
  static Result<CheckpointFile> open(const std::string& path);

  const std::vector<CheckpointEntry>& entries() const { return entries_; }

 private:
  explicit CheckpointFile(MappedFile file) : file_(std::move(file)) {}
  Result<> parse(const std::string& path);

  MappedFile file_;
  std::vector<CheckpointEntry> entries_ = {};
};

}  // namespace dt
