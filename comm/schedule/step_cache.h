#pragma once

#include "comm/schedule/algorithm.h"

#include <array>
#include <cstddef>

namespace dt {

/// Keeps the steps of one rank's last calls. A program makes the same few calls over and over, and
/// making their steps allocates. Long lists are made each time: their messages take far longer.
class StepCache {
 public:
  static constexpr size_t calls_max = 8;
  static constexpr size_t steps_max = 128;

  explicit StepCache(Group group) : group_(group) {}

  /// Returns the steps by an algorithm that can run the kind. Valid until the next call.
  const Steps& steps(const CollectiveShape& shape, Algorithm algorithm);

 private:
  struct Call {
    CollectiveShape shape = {};
    Algorithm algorithm = Algorithm::ring;
    Steps steps = {};  ///< empty: there is no such call
  };

  Group group_;
  std::array<Call, calls_max> calls_ = {};
  size_t oldest_ = 0;  ///< the place of the next call
  Steps uncached_ = {};
};

}  // namespace dt
