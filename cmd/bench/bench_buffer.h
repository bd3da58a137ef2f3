#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "cmd/bench/bench_device.h"
#include "cmd/bench/collective_world.h"

#include <cstddef>
#include <span>

namespace dt {

/// A buffer of a measurement, which grows: memory of this program, of the measured library, or of a
/// device. The last one has a copy on the host, to be filled and checked.
class BenchBuffer {
 public:
  enum class Kind : uint8_t { user, library, device };

  /// Kind::device requires a device.
  BenchBuffer(CollectiveWorld& world, Kind kind, BenchDevice* device = nullptr)
      : world_(world), kind_(kind), device_(device) {}
  BenchBuffer(const BenchBuffer&) = delete;
  BenchBuffer& operator=(const BenchBuffer&) = delete;
  ~BenchBuffer();

  /// Provides at least so many bytes. New ones are zero; a larger buffer is a new one.
  Result<> reserve(size_t bytes);
  /// The address for calls.
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  /// The bytes on the host: those of data(), or their copy.
  std::byte* host() { return kind_ == Kind::device ? own_.data() : bytes_.data(); }
  const std::byte* host() const { return kind_ == Kind::device ? own_.data() : bytes_.data(); }
  /// Makes the first bytes of data() those of host(). Nothing is to do unless these differ.
  Result<> upload(size_t bytes);
  /// The same in the other direction.
  Result<> download(size_t bytes);

 private:
  Result<> allocate_on_device(size_t bytes);

  CollectiveWorld& world_;
  Kind kind_;
  BenchDevice* device_;
  Bytes own_ = {};
  DeviceBuffer on_device_ = {};
  std::span<std::byte> bytes_ = {};
};

}  // namespace dt
