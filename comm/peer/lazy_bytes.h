#pragma once

#include <cstddef>

namespace dt {

/// Bytes that are computed in their order, and only when somebody needs them. For one thread.
class LazyBytes {
 public:
  LazyBytes() = default;
  LazyBytes(const LazyBytes&) = delete;
  LazyBytes& operator=(const LazyBytes&) = delete;
  virtual ~LazyBytes() = default;

  /// Computes those before `end`, which is a place within the bytes, or directly behind them.
  virtual void compute_until(const std::byte* end) = 0;
  /// True when all are there.
  virtual bool complete() const = 0;
};

}  // namespace dt
