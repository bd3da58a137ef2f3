#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <span>

namespace dt {

/// The most bytes of a checkpoint beside its arrays.
inline constexpr uint64_t saved_head_bytes_max = uint64_t{1} << 30;

/// A checkpoint in a file or in memory, which is read in pieces and does not change meanwhile.
struct SavedBytes {
  uint64_t size = 0;
  /// Fills `into` with the bytes from `at` on, or fails.
  std::function<Result<>(uint64_t at, std::span<std::byte> into)> read = {};

  /// Returns bytes that belong to the caller.
  static SavedBytes in_memory(ByteSpan bytes);
};

/// Reads a checkpoint from its beginning, up to the digest at its end.
class SavedReader {
 public:
  explicit SavedReader(const SavedBytes& saved) : saved_(saved) {}

  /// Returns the number of bytes before the digest that are not read yet.
  uint64_t left() const { return saved_.size - sizeof(Digest) - at_; }
  /// Fails with Errc::protocol when fewer bytes are left.
  Result<> read(std::span<std::byte> into);
  /// Reads the bytes that are left. Fails with Errc::protocol unless the digest is that of all
  /// bytes before it. Requires that nothing was read before.
  Result<> check_digest();

 private:
  const SavedBytes& saved_;
  uint64_t at_ = 0;
};

}  // namespace dt
