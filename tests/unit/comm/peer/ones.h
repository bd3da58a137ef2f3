#pragma once

#include "base/bytes.h"
#include "comm/peer/lazy_bytes.h"

#include <algorithm>
#include <cstddef>

namespace dt {

/// Ones, which are zeros before they are computed.
class Ones final : public LazyBytes {
 public:
  explicit Ones(size_t size) : bytes(size) {}
  void compute_until(const std::byte* end) override {
    computed = static_cast<size_t>(end - bytes.data());
    std::fill_n(bytes.begin(), computed, std::byte{1});
  }
  bool complete() const override { return computed == bytes.size(); }
  Bytes bytes;
  size_t computed = 0;
};

}  // namespace dt
