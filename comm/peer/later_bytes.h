#pragma once

#include <cstddef>

namespace dt {

/// Bytes that are computed in their order, and only when somebody needs them. For one thread.
class LaterBytes {
 public:
  LaterBytes() = default;
  LaterBytes(const LaterBytes&) = delete;
  LaterBytes& operator=(const LaterBytes&) = delete;
  virtual ~LaterBytes() = default;

  /// Computes those before `end`, which is a place within the bytes, or directly behind them.
  virtual void compute_until(const std::byte* end) = 0;
  /// True when all are there.
  virtual bool complete() const = 0;
};

}  // namespace dt
