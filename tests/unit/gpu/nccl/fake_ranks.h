#pragma once

#include "gpu/nccl/nccl_communicator.h"
#include "tests/unit/gpu/nccl/fake_nccl_world.h"

#include <doctest/doctest.h>

#include <functional>
#include <thread>
#include <vector>

namespace dt {

/// Ranks as threads, over a fake library whose world FAKE_NCCL describes.
struct FakeRanks {
  explicit FakeRanks(const char* words)
      : nccl(NcclLibrary::open({{.library = FAKE_NCCL, .required = true}}).value()),
        world_(words) {}

  using Program = std::function<void(NcclCommunicator&)>;
  /// Runs the program at each rank. Returns the failures of joining, by rank.
  std::vector<Result<>> run(int size, const Program& program) const {
    const NcclUniqueId id = make_nccl_id(nccl).value();
    std::vector<Result<>> joined(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        auto made = NcclCommunicator::join(nccl, {.id = id, .rank = rank, .size = size}, later());
        if (!made) {
          joined[static_cast<size_t>(rank)] = tl::unexpected(made.error());
        } else {
          program(**made);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    return joined;
  }
  /// A deadline that only a hang reaches.
  static NcclWait later() { return {.deadline = Clock::now() + seconds(60)}; }

  NcclLibrary nccl;

 private:
  FakeNcclWorld world_;
};

}  // namespace dt
