#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace dt {

/// The job's store. Waiting for a key fails when a rank dies, and when the context is finalized.
struct RankStore {
  /// The key ends with this rank's context.
  std::function<Result<>(const std::string& key, const Bytes& value)> set;
  /// A limit of zero means none.
  std::function<Result<Bytes>(const std::string& key, Duration limit)> wait;
  /// Sets a key that lasts as long as the generation.
  std::function<Result<>(const std::string& key, const Bytes& value)> note = {};
};

/// Returns the key under which a rank stores its value for a step.
inline std::string rank_key(std::string_view step, int rank) {
  return format("{}/{}", step, rank);
}

}  // namespace dt
