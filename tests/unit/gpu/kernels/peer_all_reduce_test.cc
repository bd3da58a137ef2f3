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
    CAPTURE(shape.ranks);
    CHECK(PeerRanks(shape).run<SystemOrder>(30, value) == 0);
  }
}

TEST_CASE("the numbers of collectives may wrap") {
  PeerRanks ranks({.ranks = 3, .blocks = 2});
  constexpr uint32_t last = 0xfffffff0U;
  for (int rank = 0; rank < 3; ++rank) {
    for (uint32_t& epoch : ranks.signals(rank).epochs)
      epoch = last;
    for (auto& phase : ranks.signals(rank).flags) {
      for (auto& block : phase) {
        for (uint32_t& flag : block)
          flag = last;
      }
    }
  }
  CHECK(ranks.run<SystemOrder>(40, value) == 0);
  CHECK(ranks.signals(0).epochs[0] == 40 - 16);
}

TEST_CASE("a rank that never comes ends the wait of all others at their deadline, by its name") {
  PeerRanks ranks({.ranks = 3, .blocks = 2, .patience_ns = 1});
  CHECK(ranks.run<SystemOrder>(1, value, 1) == 2 * 2);
  for (const int rank : {0, 2}) {
    const PeerTimeout& timeout = ranks.signals(rank).timeouts[1];
    CHECK(timeout.ended == 1);
    CHECK(timeout.epoch == 1);
  }
}

TEST_CASE("the host can end all waits") {
  PeerRanks ranks({.ranks = 3, .blocks = 1});
  ranks.stop();
  CHECK(ranks.run<SystemOrder>(1, value, 2) == 2);
  CHECK(ranks.signals(0).timeouts[0].ended == 2);
  CHECK(ranks.signals(0).timeouts[0].peer == 2);
  CHECK(ranks.signals(0).timeouts[0].phase == 0);
}

}  // namespace
}  // namespace dt
