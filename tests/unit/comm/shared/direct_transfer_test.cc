#include "comm/shared/direct_transfer.h"

#include "comm/collective/reduce.h"
#include "comm/collective/shared_communicator.h"
#include "tests/unit/comm/memory/heap_area.h"
#include "tests/unit/comm/memory/heap_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace dt {
namespace {

constexpr Time start_time{seconds(100)};
using State = Communicator::State;

/// The communicators of all ranks of one host, in one process, each with a heap.
struct Host {
  explicit Host(int size) : file(size), memory(size) {
    std::vector<int> ranks(static_cast<size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (int rank = 0; rank < size; ++rank) {
      heaps.push_back(file.of(rank));
      areas.push_back(std::make_shared<SharedArea>(
          SharedArea::Options{.parts = memory.parts(), .self = rank, .heap = heaps.back()}));
      members.push_back(std::make_unique<SharedCommunicator>(areas.back(), ranks));
    }
  }
  SharedCommunicator& operator[](int rank) { return *members[static_cast<size_t>(rank)]; }
  int size() const { return static_cast<int>(members.size()); }
  std::byte* allocate(int rank, size_t bytes) {
    return static_cast<std::byte*>(heaps[static_cast<size_t>(rank)]->allocate(bytes).value());
  }
  /// Steps all ranks until nothing moves.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& member : members)
        moved |= member->step(start_time);
    }
  }
  /// The blocks that ranks have copied into slots.
  uint64_t copied_in() const { return areas[0]->progress(0).sent + areas[0]->progress(1).sent; }

  HeapFile file;
  HeapArea memory;
  std::vector<std::shared_ptr<SharedHeap>> heaps;
  std::vector<std::shared_ptr<SharedArea>> areas;
  std::vector<std::unique_ptr<SharedCommunicator>> members;
};

/// One collective, whose buffers begin `offset` elements behind those of an allocation.
struct Case {
  OperationKind kind = OperationKind::all_reduce;
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  size_t count = 0;
  bool in_place = false;
  size_t offset = 0;
  std::set<int> ordinary_inputs = {};  ///< ranks whose input is not in the heap
  std::set<int> ordinary_outputs = {};
};

/// Any bits, so also NaN, infinity and subnormal numbers.
void fill(std::byte* memory, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i < bytes; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    memory[i] = static_cast<std::byte>(seed >> 56);
  }
}

/// Runs one collective on all ranks, and keeps their buffers.
class Execution {
 public:
  Execution(Host& host, const Case& call) : host_(host), call_(call) {
    const size_t size = static_cast<size_t>(host.size());
    const size_t bytes = call.count * element_bytes(call.type);
    const bool scatters = call.kind == OperationKind::reduce_scatter;
    const bool gathers = call.kind == OperationKind::all_gather;
    input_bytes_ = bytes * (scatters ? size : 1);
    output_bytes_ = bytes * (gathers ? size : 1);
    for (int rank = 0; rank < host.size(); ++rank)
      add(rank);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution() {
    for (size_t rank = 0; rank < used_.size(); ++rank)
      for (std::byte* memory : used_[rank])
        host_.heaps[rank]->free(memory);
  }

  void start(uint64_t sequence) {
    for (int rank = 0; rank < host_.size(); ++rank)
      start_rank(rank, sequence);
  }
  void start_rank(int rank, uint64_t sequence) {
    host_[rank].start(requests_[static_cast<size_t>(rank)], sequence, {}, start_time);
  }
  /// Returns the results of all ranks, behind each other.
  std::vector<std::byte> results(uint64_t sequence) {
    start(sequence);
    host_.settle();
    std::vector<std::byte> all;
    for (int rank = 0; rank < host_.size(); ++rank) {
      REQUIRE(host_[rank].state() == State::done);
      const auto* output =
          static_cast<const std::byte*>(requests_[static_cast<size_t>(rank)].output);
      all.insert(all.end(), output, output + output_bytes_);
    }
    return all;
  }
  OperationRequest& request(int rank) { return requests_[static_cast<size_t>(rank)]; }
  /// Writes this rank's input again, and spoils its output.
  void refill(int rank) {
    std::memset(request(rank).output, 0x33, output_bytes_);
    fill(input(rank), input_bytes_, static_cast<uint64_t>(rank) + 1);
  }
  void spoil_input(int rank) { std::memset(input(rank), 0x55, input_bytes_); }
  /// True when the rank's output is its part of these results().
  bool has(int rank, const std::vector<std::byte>& results) {
    return std::memcmp(request(rank).output,
                       results.data() + static_cast<size_t>(rank) * output_bytes_,
                       output_bytes_) == 0;
  }

 private:
  std::byte* input(int rank) {
    return static_cast<std::byte*>(const_cast<void*>(request(rank).input));
  }
  void add(int rank) {
    used_.emplace_back();
    const bool gathers = call_.kind == OperationKind::all_gather;
    OperationRequest request{
        .kind = call_.kind, .type = call_.type, .reduce = call_.reduce, .count = call_.count};
    request.peer = host_.size() - 1;
    request.output = buffer(rank, output_bytes_, call_.ordinary_outputs.contains(rank));
    request.input = request.output;
    if (!call_.in_place) {
      request.input = buffer(rank, input_bytes_, call_.ordinary_inputs.contains(rank));
    } else if (gathers) {
      request.input =
          static_cast<std::byte*>(request.output) + static_cast<size_t>(rank) * input_bytes_;
    }
    requests_.push_back(request);
    refill(rank);
  }
  std::byte* buffer(int rank, size_t bytes, bool ordinary) {
    const size_t skipped = call_.offset * element_bytes(call_.type);
    if (ordinary) {
      private_.push_back(std::make_unique<std::vector<std::byte>>(bytes + skipped));
      return private_.back()->data() + skipped;
    }
    used_.back().push_back(host_.allocate(rank, bytes + skipped));
    return used_.back().back() + skipped;
  }

  Host& host_;
  Case call_;
  size_t input_bytes_ = 0;
  size_t output_bytes_ = 0;
  std::vector<OperationRequest> requests_;
  std::vector<std::vector<std::byte*>> used_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> private_;
};

constexpr OperationKind executed[] = {OperationKind::all_reduce, OperationKind::broadcast,
                                      OperationKind::all_gather, OperationKind::reduce_scatter};

bool reduces_elements(OperationKind kind) {
  return kind == OperationKind::all_reduce || kind == OperationKind::reduce_scatter;
}

/// Compares the bits of a call in the heap with those of the same call in ordinary memory.
void check_equal_bits(Host& host, Case call, uint64_t& sequence) {
  CAPTURE(static_cast<int>(call.kind));
  CAPTURE(std::string(element_name(call.type)));
  CAPTURE(static_cast<int>(call.reduce));
  CAPTURE(call.count);
  CAPTURE(call.in_place);
  CAPTURE(host.size());
  const uint64_t before = host.copied_in();
  const auto direct = Execution(host, call).results(++sequence);
  // Slots are faster for small all_reduces of two ranks.
  const bool uses_slots = call.kind == OperationKind::all_reduce && host.size() == 2;
  CHECK((host.copied_in() != before) == uses_slots);
  for (int rank = 0; rank < host.size(); ++rank) {
    call.ordinary_inputs.insert(rank);
    call.ordinary_outputs.insert(rank);
  }
  const auto copied = Execution(host, call).results(++sequence);
  CHECK(host.copied_in() > before);
  REQUIRE(direct.size() == copied.size());
  CHECK(std::memcmp(direct.data(), copied.data(), direct.size()) == 0);
}

TEST_CASE("results have the bits of ordinary memory, for each kind, type, reduction and size") {
  for (int size = 2; size <= 4; ++size) {
    Host host(size);
    uint64_t sequence = 0;
    for (const OperationKind kind : executed) {
      for (int type = 0; type < 10; ++type) {
        for (int reduce = 0; reduce < (reduces_elements(kind) ? 5 : 1); ++reduce) {
          for (const bool in_place : {false, true}) {
            if (in_place && kind == OperationKind::reduce_scatter) continue;
            check_equal_bits(host,
                             {.kind = kind,
                              .type = static_cast<ElementType>(type),
                              .reduce = static_cast<ReduceOp>(reduce),
                              .count = 10'007,
                              .in_place = in_place,
                              .offset = 3},
                             sequence);
          }
        }
      }
    }
  }
}

TEST_CASE("results have the bits of ordinary memory, whatever the count") {
  for (const int size : {2, 3, 5}) {
    Host host(size);
    uint64_t sequence = 0;
    for (const OperationKind kind : executed)
      for (const size_t count : {8'200, 16'384, 65'537, 300'001, 1'100'003})
        check_equal_bits(
            host, {.kind = kind, .type = ElementType::int8, .count = count, .offset = 1}, sequence);
  }
}

TEST_CASE("a call in which one rank has ordinary memory copies it, unless no rank reads it") {
  struct Mixed {
    OperationKind kind;
    std::set<int> inputs;
    std::set<int> outputs;
    bool direct;
  };
  const std::vector<Mixed> all = {
      {OperationKind::all_reduce, {1}, {}, false},
      {OperationKind::all_reduce, {}, {0}, false},
      {OperationKind::reduce_scatter, {2}, {}, false},
      {OperationKind::reduce_scatter, {}, {0, 1, 2}, true},
      {OperationKind::all_gather, {0}, {}, false},
      {OperationKind::all_gather, {}, {0, 1, 2}, true},
      {OperationKind::broadcast, {2}, {}, false},
      {OperationKind::broadcast, {0, 1}, {0, 1, 2}, true},
  };
  Host host(3);
  uint64_t sequence = 0;
  for (int rank = 0; rank < 3; ++rank)
    host.allocate(rank, 1);
  for (const Mixed& mixed : all) {
    CAPTURE(static_cast<int>(mixed.kind));
    const Case in_heap = {.kind = mixed.kind, .count = 30'000};
    Case call = in_heap;
    call.ordinary_inputs = mixed.inputs;
    call.ordinary_outputs = mixed.outputs;
    const uint64_t before = host.copied_in();
    const auto results = Execution(host, call).results(++sequence);
    CHECK((host.copied_in() == before) == mixed.direct);
    CHECK(results == Execution(host, in_heap).results(++sequence));
  }
}

TEST_CASE("a large all_reduce of two ranks uses no slots") {
  Host host(2);
  for (const int rank : {0, 1})
    host.allocate(rank, 1);
  const Case call = {.count = size_t{1} << 19};  // 2 MiB
  Execution(host, call).results(1);
  CHECK(host.copied_in() == 0);
}

TEST_CASE("a rank that has allocated nothing reads no other's memory") {
  Host host(2);
  const Case call = {.kind = OperationKind::broadcast,
                     .count = 30'000,
                     .ordinary_inputs = {0},
                     .ordinary_outputs = {0}};
  const auto copied = Execution(host, call).results(1);
  CHECK(host.copied_in() > 0);
  host.allocate(0, 1);
  const uint64_t before = host.copied_in();
  CHECK(Execution(host, call).results(2) == copied);
  CHECK(host.copied_in() == before);
}

TEST_CASE("a scattered result may lie on the input") {
  Host host(3);
  const Case call = {.kind = OperationKind::reduce_scatter, .count = 9'000};
  const auto wanted = Execution(host, call).results(1);
  Execution execution(host, call);
  for (int rank = 0; rank < 3; ++rank)
    execution.request(rank).output = const_cast<void*>(execution.request(rank).input);
  CHECK(execution.results(2) == wanted);
}

TEST_CASE("lanes of whole buffers are reduced and gathered in place, without slots") {
  for (const size_t lanes : {1, 2, 3}) {
    Host host(3);
    const Case call = {.count = 9'001, .in_place = true};
    const auto wanted = Execution(host, call).results(1);
    Execution execution(host, call);
    for (const OperationKind kind : {OperationKind::reduce_scatter, OperationKind::all_gather}) {
      for (int rank = 0; rank < 3; ++rank) {
        execution.request(rank).kind = kind;
        execution.request(rank).lanes = static_cast<int>(lanes);
      }
      execution.start(kind == OperationKind::all_gather ? 3 : 2);
      host.settle();
    }
    for (int rank = 0; rank < 3; ++rank)
      CHECK(execution.has(rank, wanted));
    CHECK(host.copied_in() == 0);
  }
}

TEST_CASE("the root of a broadcast needs no output, and none is written") {
  Host host(2);
  Execution execution(host, {.kind = OperationKind::broadcast, .count = 9'000});
  execution.request(1).output = nullptr;
  execution.start(1);
  host.settle();
  CHECK(host[1].state() == State::done);
  CHECK(std::memcmp(execution.request(0).output, execution.request(1).input, 36'000) == 0);
}

TEST_CASE("a rank stays until all have read its buffers") {
  for (const OperationKind kind : executed) {
    CAPTURE(static_cast<int>(kind));
    Host host(3);
    Execution execution(host, {.kind = kind, .count = 50'000});
    execution.start(1);
    // Rank 2 is the root of the broadcast.
    for (int i = 0; i < 50; ++i) {
      host[1].step(start_time);
      host[2].step(start_time);
    }
    CHECK(host[2].state() == State::running);
    CHECK(host[2].waits_for() == 0);
    CHECK(host[2].needs(0));
    CHECK(!host[2].needs(2));
    CHECK(!host[2].any_missing());
    CHECK((host[1].state() == State::done) == (kind == OperationKind::broadcast));
    host.settle();
    for (int rank = 0; rank < 3; ++rank)
      CHECK(host[rank].state() == State::done);
  }
}

TEST_CASE("no rank ends with what it has read from a rank that aborted") {
  for (const OperationKind kind : executed) {
    for (const int steps : {0, 1, 3, 50}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(steps);
      Host host(3);
      Execution execution(host, {.kind = kind, .count = 400'000});
      execution.start(1);
      // The root of the broadcast aborts. It has begun at most.
      for (int i = 0; i < steps; ++i)
        host[2].step(start_time);
      host[2].cancel();
      std::memset(const_cast<void*>(execution.request(2).input), 0x55, 400'000);
      host.settle();
      for (const int rank : {0, 1}) {
        CHECK(host[rank].state() == State::running);
        CHECK(host[rank].waits_for() == 2);
        CHECK(host[rank].needs(2));
      }
      for (const int rank : {0, 1}) {
        host[rank].cancel();
        CHECK(host[rank].state() == State::idle);
      }
    }
  }
}

TEST_CASE("a rank that has ended its call does not mark it as aborted when it leaves") {
  Host host(2);
  Execution(host, {.count = 50'000}).results(1);
  host[0].cancel();
  CHECK(host.areas[1]->progress(0).aborted == 0);
}

TEST_CASE("nothing is read before all ranks have made the same call") {
  Host host(2);
  Execution execution(host, {.count = 50'000});
  Execution other(host, {.kind = OperationKind::all_gather, .count = 50'000});
  execution.start_rank(0, 1);
  host.settle();
  CHECK(host[0].any_missing());
  CHECK(host[0].missing() == std::vector{1});
  other.start_rank(1, 1);
  host.settle();
  for (const int rank : {0, 1}) {
    CHECK(host[rank].state() == State::mismatch);
    host[rank].cancel();
  }
  const auto again = Execution(host, {.count = 50'000}).results(2);
  CHECK(std::equal(again.begin(), again.begin() + 200'000, again.begin() + 200'000));
}

TEST_CASE("ranks in threads own their buffers again when their call is done") {
  constexpr int ranks = 3;
  Host host(ranks);
  std::vector<std::unique_ptr<Execution>> executions;
  std::vector<std::vector<std::byte>> wanted;
  for (const OperationKind kind : executed) {
    for (const bool slots : {false, true}) {
      Case call = {.kind = kind, .type = ElementType::bfloat16, .count = 90'001};
      if (slots) call.ordinary_inputs = {0, 1, 2};
      executions.push_back(std::make_unique<Execution>(host, call));
      wanted.push_back(executions.back()->results(executions.size()));
    }
  }
  std::atomic<int> wrong = 0;
  const auto run = [&](int rank) {
    for (size_t round = 0; round < 64; ++round) {
      const size_t at = round * 5 % executions.size();
      executions[at]->refill(rank);
      executions[at]->start_rank(rank, executions.size() + 1 + round);
      while (host[rank].state() == State::running)
        if (!host[rank].step(start_time)) std::this_thread::yield();
      if (host[rank].state() != State::done || !executions[at]->has(rank, wanted[at])) ++wrong;
      executions[at]->spoil_input(rank);
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(run, rank);
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("calls in the heap, in slots and in mailboxes may follow each other in any order") {
  Host host(3);
  const Case in_heap = {.type = ElementType::int32, .count = 70'000};
  const auto wanted = Execution(host, in_heap).results(1);
  uint64_t sequence = 1;
  for (int i = 0; i < 60; ++i) {
    Case call = in_heap;
    if (i * i % 7 < 3) call.ordinary_inputs = {i % 3};
    CHECK(Execution(host, call).results(++sequence) == wanted);
    if (i % 4 == 0) Execution(host, {.count = 3}).results(++sequence);
    if (i % 5 == 0)
      Execution(host, {.kind = executed[i / 5 % 4], .count = 9'000}).results(++sequence);
  }
}

}  // namespace
}  // namespace dt
