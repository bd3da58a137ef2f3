#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "cmd/bench/collective_world.h"

#include <cstddef>
#include <span>

namespace dt {

/// A buffer of a measurement, which grows: memory of this program, or of the measured library.
class BenchBuffer {
 public:
  enum class Kind : uint8_t { user, library };

  BenchBuffer(CollectiveWorld& world, Kind kind) : world_(world), kind_(kind) {}
  BenchBuffer(const BenchBuffer&) = delete;
  BenchBuffer& operator=(const BenchBuffer&) = delete;
  ~BenchBuffer();

  /// Provides at least so many bytes. New ones are zero; a larger buffer is a new one.
  Result<> reserve(size_t bytes);
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }

 private:
  CollectiveWorld& world_;
  Kind kind_;
  Bytes own_;
  std::span<std::byte> bytes_;
};

}  // namespace dt
