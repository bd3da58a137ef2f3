#pragma once

#include "base/clock.h"

#include <cstddef>
#include <cstdint>
#include <random>

namespace dt {

/// The only source of chance in a simulation: the same seed makes the same run.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// 0 … n-1.
  size_t below(size_t n) { return engine_() % n; }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<size_t>(high - low) + 1));
  }
  bool percent(size_t chance) { return below(100) < chance; }
  Duration up_to(Duration most) { return Duration(below(static_cast<size_t>(most.count()) + 1)); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dt
