#pragma once

#include "base/clock.h"
#include "base/json.h"

#include <chrono>
#include <string>

namespace dt {

/// The values of the reports.
inline double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace dt
