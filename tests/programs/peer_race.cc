// Runs all_reduces of peers under ThreadSanitizer, with the order of memory accesses that the
// kernel has. With `weakened`, they run without it. ThreadSanitizer must find the race of these.
#include "tests/unit/gpu/kernels/peer_ranks.h"

#include <cstdio>
#include <cstring>

namespace {

/// Flags that order nothing else.
struct RelaxedOrder {
  static void release(uint32_t* flag, uint32_t value) {
    __atomic_store_n(flag, value, __ATOMIC_RELAXED);
  }
  static uint32_t acquire(const uint32_t* flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED); }
};

float value(int rank, int round, uint64_t element) {
  return static_cast<float>(rank + round) + static_cast<float>(element % 7);
}

}  // namespace

int main(int count, char** words) {
  const bool weakened = count > 1 && std::strcmp(words[1], "weakened") == 0;
  int wrong = 0;
  for (const bool one_shot : {false, true}) {
    dt::PeerRanks ranks({.ranks = 4, .blocks = 3, .one_shot = one_shot});
    wrong += weakened ? ranks.run<RelaxedOrder>(20, value) : ranks.run<dt::SystemOrder>(20, value);
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
