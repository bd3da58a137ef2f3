#pragma once

#include "base/clock.h"

namespace dt {

/// When an operation reached its states, by the monotonic clock. Time() for states to come.
struct OperationTimes {
  Time submitted;
  Time started;  ///< its collective began, or its message was matched
  Time ended;
};

}  // namespace dt
