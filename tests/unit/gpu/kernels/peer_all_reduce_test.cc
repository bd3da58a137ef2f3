#include "tests/unit/gpu/kernels/peer_ranks.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// Values whose sum is rounded differently in another order.
float value(int rank, int round, uint64_t element) {
  return static_cast<float>(rank + 1) * 0.1F + static_cast<float>(round) * 1e4F +
         static_cast<float>(element % 97) * 1e-3F;
}

TEST_CASE("every rank gets the sum in the order of ranks, call after call") {
  for (const auto& shape :
       {PeerRanks::Shape{.ranks = 1}, PeerRanks::Shape{.ranks = 2, .blocks = 1},
        PeerRanks::Shape{.ranks = 3, .blocks = 2, .count = 1000, .tile_elements = 40},
        PeerRanks::Shape{.ranks = 4, .blocks = 3},
        PeerRanks::Shape{.ranks = 8, .blocks = 1, .count = 40, .tile_elements = 8}}) {
    for (const bool one_shot : {false, true}) {
      CAPTURE(shape.ranks);
      CAPTURE(one_shot);
      PeerRanks::Shape called = shape;
      called.one_shot = one_shot;
      CHECK(PeerRanks(called).run<SystemOrder>(30, value) == 0);
    }
  }
}

TEST_CASE("memory of a user has any address and any count") {
  for (const uint64_t count : {1, 2, 3, 5, 63, 64, 65, 129}) {
    for (const size_t shift : {0, 1, 4, 8}) {
      CAPTURE(count);
      CAPTURE(shift);
      PeerRanks::Shape shape = {.ranks = 2, .blocks = 2, .count = count, .shift = shift};
      CHECK(PeerRanks(shape).run<SystemOrder>(2, value) == 0);
      shape.one_shot = true;
      CHECK(PeerRanks(shape).run<SystemOrder>(2, value) == 0);
    }
  }
}

TEST_CASE("the numbers of collectives may wrap") {
  PeerRanks ranks({.ranks = 3, .blocks = 2});
  constexpr uint32_t last = 0xfffffff0U;
  for (int rank = 0; rank < 3; ++rank) {
    for (auto& phase : ranks.signals(rank).epochs) {
      for (uint32_t& epoch : phase)
        epoch = last;
    }
    for (auto& phase : ranks.signals(rank).flags) {
      for (auto& block : phase) {
        for (uint32_t& flag : block)
          flag = last;
      }
    }
  }
  CHECK(ranks.run<SystemOrder>(40, value) == 0);
  CHECK(ranks.signals(0).epochs[0][0] == 40 - 16);
}

TEST_CASE("one-shot calls do not count at the second barrier") {
  PeerRanks ranks({.ranks = 2, .blocks = 1, .patience_ns = 1});
  // After 2^31 one-shot calls, the peer has begun another call, but has not ended its part.
  ranks.signals(0).epochs[0][0] = 0x80000000U;
  ranks.signals(0).flags[0][0][1] = 0x80000001U;
  CHECK(ranks.run<SystemOrder>(1, value, 1) == 1);
  CHECK(ranks.timeout(0, 0).phase == 1);
  CHECK(ranks.timeout(0, 0).epoch == 1);
}

TEST_CASE("calls behind one that has ended early leave its data to a late peer") {
  for (const bool one_shot : {false, true}) {
    PeerRanks ranks({.ranks = 2, .blocks = 1, .one_shot = one_shot});
    ranks.stop();
    CHECK(ranks.run<SystemOrder>(3, value, 1) == 3);
    ranks.resume();
    if (one_shot) {
      CHECK(ranks.run<SystemOrder>(1, value, 0) == 0);
    } else {
      // The late peer waits for the second barrier.
      ranks.stop();
      CHECK(ranks.run<SystemOrder>(1, value, 0) == 1);
    }
  }
}

TEST_CASE("a rank that never comes ends the wait of all others at their deadline, by its name") {
  PeerRanks ranks({.ranks = 3, .blocks = 1, .patience_ns = 1});
  CHECK(ranks.run<SystemOrder>(1, value, 1) == 2);
  for (const int rank : {0, 2}) {
    const PeerTimeout& timeout = ranks.timeout(rank, 0);
    CHECK(timeout.ended == 1);
    CHECK(timeout.epoch == 1);
  }
}

TEST_CASE("the host can end all waits") {
  PeerRanks ranks({.ranks = 3, .blocks = 1});
  ranks.stop();
  CHECK(ranks.run<SystemOrder>(1, value, 2) == 2);
  CHECK(ranks.timeout(0, 0).ended == 2);
  CHECK(ranks.timeout(0, 0).peer == 2);
  CHECK(ranks.timeout(0, 0).phase == 0);
}

}  // namespace
}  // namespace dt
