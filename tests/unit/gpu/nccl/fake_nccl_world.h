#pragma once

#include "base/format.h"

#include <atomic>
#include <cstdlib>

namespace dt {

/// Sets the world of the fake library (tests/programs/fake_nccl.cc), until it ends. Each has a
/// number: the library counts calls anew for each value of the variable, and is never unloaded.
class FakeNcclWorld {
 public:
  explicit FakeNcclWorld(const char* words) {
    static std::atomic<int> worlds = 0;
    setenv("FAKE_NCCL", format("{} world={}", words, ++worlds).c_str(), 1);
  }
  FakeNcclWorld(const FakeNcclWorld&) = delete;
  FakeNcclWorld& operator=(const FakeNcclWorld&) = delete;
  ~FakeNcclWorld() { unsetenv("FAKE_NCCL"); }
};

}  // namespace dt
