#pragma once

#include "base/result.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace dt {

/// Prints the error and ends the program. Its status is 77, "skipped", when something is missing.
[[noreturn]] inline void stop(const Error& error) {
  std::printf("%s\n", error.message.c_str());
  std::exit(error.code == Errc::not_found ? 77 : 1);
}

/// Returns the value, or stops.
template <class T>
T or_stop(Result<T> result) {
  if (!result) stop(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace dt
