#include "gpu/nccl/nccl_communicator.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace dt {
namespace {

/// Ranks as threads, over a fake library whose world FAKE_NCCL describes.
struct FakeRanks {
  explicit FakeRanks(const char* words, const char* library = FAKE_NCCL)
      : nccl(NcclLibrary::open({{.library = library, .required = true}}).value()) {
    setenv("FAKE_NCCL", words, 1);
  }
  FakeRanks(const FakeRanks&) = delete;
  FakeRanks& operator=(const FakeRanks&) = delete;
  ~FakeRanks() { unsetenv("FAKE_NCCL"); }

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
  static Time later() { return Clock::now() + seconds(60); }

  NcclLibrary nccl;
};

/// Returns the sum over all ranks of (rank + 1).
Result<> sum_ranks(NcclCommunicator& communicator, float& result, Time deadline) {
  const float mine = static_cast<float>(communicator.rank() + 1);
  float sum = 0;
  auto done = communicator.all_reduce({.from = &mine, .to = &sum, .count = 1}, deadline);
  result = sum;
  return done;
}

TEST_CASE("ranks join by one id, and reduce again and again") {
  for (const char* const library : {FAKE_NCCL, FAKE_NCCL_214}) {
    const FakeRanks ranks("", library);
    std::vector<float> sums(4);
    const auto joined = ranks.run(4, [&](NcclCommunicator& communicator) {
      for (int i = 0; i < 20; ++i) {
        float& sum = sums[static_cast<size_t>(communicator.rank())];
        CHECK(sum_ranks(communicator, sum, FakeRanks::later()).has_value());
      }
    });
    for (const auto& result : joined)
      CHECK(result.has_value());
    CHECK(sums == std::vector<float>(4, 10));
  }
}

TEST_CASE("a rank that finds no driver fails with NCCL's texts") {
  const FakeRanks ranks("no_driver");
  for (const auto& joined : ranks.run(2, [](NcclCommunicator&) {})) {
    REQUIRE_FALSE(joined.has_value());
    CHECK(joined.error() ==
          Error{Errc::os,
                "ncclCommInitRankConfig: unhandled cuda error (CUDA driver version is "
                "insufficient)"});
  }
}

TEST_CASE("a rank that waits for peers that never join fails at its deadline") {
  const FakeRanks ranks("hang=ncclCommInitRankConfig");
  const NcclUniqueId id = make_nccl_id(ranks.nccl).value();
  const auto joined = NcclCommunicator::join(ranks.nccl, {.id = id, .size = 2}, Clock::now());
  REQUIRE_FALSE(joined.has_value());
  CHECK(joined.error() ==
        Error{Errc::timeout, "ncclCommInitRankConfig: NCCL has not completed it in time"});
}

TEST_CASE("a call that fails makes the communicator unusable") {
  const FakeRanks ranks("fail=ncclAllReduce:2");
  ranks.run(1, [&](NcclCommunicator& communicator) {
    float sum = 0;
    CHECK(sum_ranks(communicator, sum, FakeRanks::later()).has_value());
    const auto failed = sum_ranks(communicator, sum, FakeRanks::later());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error() == Error{Errc::os, "ncclAllReduce: internal error"});
    const auto later = sum_ranks(communicator, sum, FakeRanks::later());
    REQUIRE_FALSE(later.has_value());
    CHECK(later.error() ==
          Error{Errc::closed, "ncclAllReduce: the communicator has failed, and is unusable"});
  });
}

TEST_CASE("stop ends calls that NCCL would never end, at every rank, and communicators are freed") {
  for (const char* const library : {FAKE_NCCL, FAKE_NCCL_214}) {
    const FakeRanks ranks("hang=ncclAllReduce", library);
    ranks.run(3, [&](NcclCommunicator& communicator) {
      std::thread notice(
          [&] { communicator.stop({Errc::peer_lost, "rank 2 on node07 was killed"}); });
      float sum = 0;
      const auto failed = sum_ranks(communicator, sum, FakeRanks::later());
      notice.join();
      REQUIRE_FALSE(failed.has_value());
      CHECK(failed.error() == Error{Errc::peer_lost, "rank 2 on node07 was killed"});
    });
  }
}

TEST_CASE("a call past its deadline fails, and the communicator can be aborted") {
  const FakeRanks ranks("hang=ncclAllReduce");
  ranks.run(2, [&](NcclCommunicator& communicator) {
    float sum = 0;
    const auto failed = sum_ranks(communicator, sum, Clock::now());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == Errc::timeout);
  });
}

}  // namespace
}  // namespace dt
