#pragma once

#include <cstdint>
#include <cstdlib>

namespace dt {

/// The seeds of a simulation: so many, beginning with the first.
struct Seeds {
  uint64_t first = 1;
  uint64_t count = 1000;
};

inline uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread sets it
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Returns the seed of DTRAIN_SIM_SEED alone. Without it, DTRAIN_SIM_SEEDS is the count.
inline Seeds chosen_seeds() {
  const uint64_t one = number_from_environment("DTRAIN_SIM_SEED", 0);
  if (one > 0) return {one, 1};
  return {1, number_from_environment("DTRAIN_SIM_SEEDS", 1000)};
}

}  // namespace dt
