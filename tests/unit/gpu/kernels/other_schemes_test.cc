#include "tests/gpu/other_schemes.cuh"

#include "tests/unit/gpu/kernels/peer_ranks.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

TEST_CASE("Horovod's scheme copies tensors at all addresses") {
  for (const size_t shift : {0, 1, 2, 4, 8}) {
    for (const uint64_t bytes : {0, 1, 15, 16, 17, 1000}) {
      CAPTURE(shift);
      CAPTURE(bytes);
      std::vector<Chunk> source(80);
      std::vector<Chunk> destination(80);
      auto* const from = reinterpret_cast<std::byte*>(source.data());
      auto* const to = reinterpret_cast<std::byte*>(destination.data());
      for (size_t i = 0; i < source.size() * sizeof(Chunk); ++i)
        from[i] = static_cast<std::byte>(i * 7);
      BatchedCopies copies;
      copies.from[3] = from + shift;
      copies.to[3] = to;
      copies.bytes[3] = bytes;
      for (uint64_t thread = 0; thread < 5; ++thread)
        copy_batched(copies, 3, {.thread = thread, .threads = 5});
      CHECK(std::memcmp(to, from + shift, bytes) == 0);
      CHECK(to[bytes] == std::byte{0});
    }
  }
}

TEST_CASE("vLLM's schedule sums the parts of all ranks in their order") {
  constexpr int ranks = 3;
  constexpr int blocks = 2;
  constexpr uint64_t count = 4 * 3500;
  std::vector<std::unique_ptr<PeerRankMemory>> memory;
  std::vector<std::vector<Chunk>> outputs(ranks, std::vector<Chunk>(count / 4));
  std::vector<float> expected(count);
  for (int rank = 0; rank < ranks; ++rank) {
    memory.push_back(std::make_unique<PeerRankMemory>(count));
    for (uint64_t i = 0; i < count; ++i) {
      const float put = 0.1F * static_cast<float>(rank + 1) + static_cast<float>(i % 97) * 1e-3F;
      std::memcpy(memory.back()->part(0) + i * sizeof put, &put, sizeof put);
      expected[i] = rank == 0 ? put : expected[i] + put;
    }
  }
  const uint32_t stop = 0;
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int block = 0; block < blocks; ++block) {
      threads.emplace_back([&, rank, block] {
        const auto self = static_cast<size_t>(rank);
        PeerAllReduce call = {.place = {.stop = &stop,
                                        .timeouts = memory[self]->timeouts,
                                        .patience_ns = 60'000'000'000,
                                        .rank = rank,
                                        .ranks = ranks},
                              .to = reinterpret_cast<std::byte*>(outputs[self].data()),
                              .count = count,
                              .blocks = blocks};
        for (int peer = 0; peer < ranks; ++peer) {
          PeerRankMemory& other = *memory[static_cast<size_t>(peer)];
          call.place.signals[peer] = &other.signals;
          call.reduction.arrays[peer] = other.part(0);
          call.results[peer] = other.part(1);
        }
        call.reduction.into = memory[self]->part(1);
        call.reduction.count = count;
        call.reduction.array_count = call.reduction.second_half = ranks;
        const OneThread one;
        if (!PeerPartsBlock<float, ReduceOp::sum, SystemOrder, OneThread>(call, block, one).run())
          ++failed;
      });
    }
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(failed == 0);
  for (const auto& output : outputs)
    CHECK(std::memcmp(output.data(), expected.data(), count * sizeof(float)) == 0);
}

}  // namespace
}  // namespace dt
