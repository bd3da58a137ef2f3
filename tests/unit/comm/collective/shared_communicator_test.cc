#include "comm/collective/shared_communicator.h"

#include "tests/unit/comm/memory/heap_area.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

namespace dt {
namespace {

constexpr Time start_time{seconds(100)};

/// The communicators of all ranks of one host, in one process.
struct Host {
  explicit Host(int size, size_t slot_bytes = SIZE_MAX, Time (*clock)() = nullptr)
      : memory(size, slot_bytes) {
    std::vector<int> ranks(static_cast<size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (int rank = 0; rank < size; ++rank)
      members.push_back(std::make_unique<SharedCommunicator>(memory.of(rank, clock), ranks));
  }
  SharedCommunicator& operator[](int rank) { return *members[static_cast<size_t>(rank)]; }
  int size() const { return static_cast<int>(members.size()); }
  /// Steps all ranks until nothing moves.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& member : members)
        moved |= member->step(start_time);
    }
  }

  HeapArea memory;
  std::vector<std::unique_ptr<SharedCommunicator>> members;
};

/// The buffers of one rank, float64.
struct Buffers {
  std::vector<double> input;
  std::vector<double> output;
};

/// Small whole numbers, so that sums are exact in any order.
double value(int rank, size_t i) {
  return static_cast<double>((i * 7 + static_cast<size_t>(rank) * 3) % 11);
}

/// The elements of outputs before an operation.
constexpr double untouched = -77;

double sum_at(int size, size_t i) {
  double sum = 0;
  for (int rank = 0; rank < size; ++rank)
    sum += value(rank, i);
  return sum;
}

/// Runs one collective on all ranks; returns their buffers. Elements before and behind the outputs
/// are checked to be unchanged.
std::vector<Buffers> run(Host& host, OperationRequest request, uint64_t sequence = 1) {
  const auto size = static_cast<size_t>(host.size());
  const bool scatters = request.kind == OperationKind::reduce_scatter ||
                        request.kind == OperationKind::scatter ||
                        request.kind == OperationKind::all_to_all;
  const bool gathers = request.kind == OperationKind::all_gather ||
                       request.kind == OperationKind::gather ||
                       request.kind == OperationKind::all_to_all;
  std::vector<Buffers> buffers(size);
  std::vector<OperationRequest> requests(size, request);
  for (size_t rank = 0; rank < size; ++rank) {
    Buffers& own = buffers[rank];
    own.input.resize(request.count * (scatters ? size : 1));
    for (size_t i = 0; i < own.input.size(); ++i)
      own.input[i] = value(static_cast<int>(rank), i);
    own.output.assign(request.count * (gathers ? size : 1) + 2, untouched);
    requests[rank].input = own.input.data();
    requests[rank].output = own.output.data() + 1;
    host[static_cast<int>(rank)].start(requests[rank], sequence, {}, start_time);
  }
  host.settle();
  for (size_t rank = 0; rank < size; ++rank) {
    CHECK(host[static_cast<int>(rank)].state() == Communicator::State::done);
    std::vector<double>& output = buffers[rank].output;
    CHECK(output.front() == untouched);
    CHECK(output.back() == untouched);
    output.erase(output.begin());
    output.pop_back();
  }
  return buffers;
}

OperationRequest request_of(OperationKind kind, size_t count) {
  return {.kind = kind, .type = ElementType::float64, .count = count};
}

TEST_CASE("all collectives have exact results, whatever the ranks, counts and blocks") {
  for (const int size : {2, 3, 4, 7, 9}) {
    for (const size_t slot_bytes : {size_t{1024}, size_t{4096}, size_t{65536}}) {
      Host host(size, slot_bytes);
      uint64_t sequence = 0;
      for (const size_t count : {0, 1, 3, 4, 5, 63, 1000, 1025, 4099, 20011}) {
        CAPTURE(size);
        CAPTURE(slot_bytes);
        CAPTURE(count);
        const auto reduced = run(host, request_of(OperationKind::all_reduce, count), ++sequence);
        const auto scattered =
            run(host, request_of(OperationKind::reduce_scatter, count), ++sequence);
        const auto gathered = run(host, request_of(OperationKind::all_gather, count), ++sequence);
        OperationRequest broadcast = request_of(OperationKind::broadcast, count);
        broadcast.peer = size - 1;
        const auto sent = run(host, broadcast, ++sequence);
        size_t wrong = 0;
        for (int rank = 0; rank < size; ++rank) {
          const auto at = static_cast<size_t>(rank);
          for (size_t i = 0; i < count; ++i) {
            wrong += reduced[at].output[i] != sum_at(size, i);
            wrong += scattered[at].output[i] != sum_at(size, at * count + i);
            wrong += sent[at].output[i] != value(size - 1, i);
            for (int from = 0; from < size; ++from)
              wrong += gathered[at].output[static_cast<size_t>(from) * count + i] != value(from, i);
          }
        }
        CHECK(wrong == 0);
        run(host, request_of(OperationKind::barrier, 0), ++sequence);
      }
    }
  }
}

/// Each call is a second later, so that all writes are slow.
Time slow_clock() {
  static Time now;
  return now += seconds(1);
}

TEST_CASE("members that write past their caches have the same results") {
  for (const int size : {2, 3}) {
    Host host(size, 4096, slow_clock);
    for (uint64_t sequence = 1; sequence < 6; ++sequence) {
      constexpr size_t count = 30011;
      const auto reduced = run(host, request_of(OperationKind::all_reduce, count), 3 * sequence);
      const auto scattered =
          run(host, request_of(OperationKind::reduce_scatter, count), 3 * sequence + 1);
      const auto gathered =
          run(host, request_of(OperationKind::all_gather, count), 3 * sequence + 2);
      size_t wrong = 0;
      for (size_t rank = 0; rank < static_cast<size_t>(size); ++rank) {
        for (size_t i = 0; i < count; ++i) {
          wrong += reduced[rank].output[i] != sum_at(size, i);
          wrong += scattered[rank].output[i] != sum_at(size, rank * count + i);
          wrong += gathered[rank].output[count + i] != value(1, i);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("with lanes, the first members own parts of whole buffers, and may work in place") {
  for (const int size : {2, 3, 7}) {
    for (const size_t count : {1, 5, 1000, 4099, 20011}) {
      for (int lanes = 1; lanes <= size; lanes += 2) {
        for (const bool in_place : {false, true}) {
          CAPTURE(size);
          CAPTURE(count);
          CAPTURE(lanes);
          Host host(size, 4096);
          std::vector<std::vector<double>> inputs;
          std::vector<std::vector<double>> outputs(static_cast<size_t>(size),
                                                   std::vector<double>(count));
          std::vector<OperationRequest> requests;
          for (int rank = 0; rank < size; ++rank) {
            inputs.emplace_back();
            for (size_t i = 0; i < count; ++i)
              inputs.back().push_back(value(rank, i));
            if (in_place) outputs[static_cast<size_t>(rank)] = inputs.back();
          }
          for (size_t rank = 0; rank < inputs.size(); ++rank) {
            OperationRequest request = request_of(OperationKind::reduce_scatter, count);
            request.lanes = lanes;
            request.input = in_place ? outputs[rank].data() : inputs[rank].data();
            request.output = outputs[rank].data();
            requests.push_back(request);
          }
          const auto run_all = [&](uint64_t sequence) {
            for (int rank = 0; rank < size; ++rank)
              host[rank].start(requests[static_cast<size_t>(rank)], sequence, {}, start_time);
            host.settle();
            for (int rank = 0; rank < size; ++rank)
              REQUIRE(host[rank].state() == Communicator::State::done);
          };
          run_all(1);
          for (OperationRequest& request : requests) {
            request.kind = OperationKind::all_gather;
            request.input = request.output;
          }
          run_all(2);
          for (const std::vector<double>& output : outputs)
            for (size_t i = 0; i < count; ++i)
              REQUIRE(output[i] == sum_at(size, i));
        }
      }
    }
  }
}

TEST_CASE("collectives with a root change the outputs that the others do not have") {
  for (const int size : {2, 3, 4, 7, 9}) {
    for (const size_t slot_bytes : {size_t{1024}, size_t{65536}}) {
      Host host(size, slot_bytes);
      uint64_t sequence = 0;
      for (const size_t count : {0, 1, 3, 63, 1025, 20011}) {
        CAPTURE(size);
        CAPTURE(slot_bytes);
        CAPTURE(count);
        const int root = size / 2;
        const auto with_root = [&](OperationKind kind) {
          OperationRequest request = request_of(kind, count);
          request.peer = root;
          return run(host, request, ++sequence);
        };
        const auto reduced = with_root(OperationKind::reduce);
        const auto gathered = with_root(OperationKind::gather);
        const auto scattered = with_root(OperationKind::scatter);
        const auto exchanged = run(host, request_of(OperationKind::all_to_all, count), ++sequence);
        size_t wrong = 0;
        for (int rank = 0; rank < size; ++rank) {
          const auto at = static_cast<size_t>(rank);
          for (size_t i = 0; i < count; ++i) {
            wrong += reduced[at].output[i] != (rank == root ? sum_at(size, i) : untouched);
            wrong += scattered[at].output[i] != value(root, at * count + i);
            for (int from = 0; from < size; ++from) {
              const size_t part = static_cast<size_t>(from) * count;
              wrong += gathered[at].output[part + i] != (rank == root ? value(from, i) : untouched);
              wrong += exchanged[at].output[part + i] != value(from, at * count + i);
            }
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("buffers may be reduced in place, small and large") {
  for (const size_t count : {5, 5000}) {
    Host host(3, 1024);
    std::vector<std::vector<double>> buffers(3, std::vector<double>(count));
    std::vector<OperationRequest> requests(3, request_of(OperationKind::all_reduce, count));
    for (int rank = 0; rank < 3; ++rank) {
      const auto at = static_cast<size_t>(rank);
      for (size_t i = 0; i < count; ++i)
        buffers[at][i] = value(rank, i);
      requests[at].input = buffers[at].data();
      requests[at].output = buffers[at].data();
      host[rank].start(requests[at], 1, {}, start_time);
    }
    host.settle();
    size_t wrong = 0;
    for (const auto& buffer : buffers)
      for (size_t i = 0; i < count; ++i)
        wrong += buffer[i] != sum_at(3, i);
    CHECK(wrong == 0);
  }
}

TEST_CASE("no rank writes into its buffers before all have made the same call") {
  Host host(3);
  std::vector<double> input(4, 1);
  std::vector<double> output(4, -1);
  OperationRequest request = request_of(OperationKind::all_reduce, 4);
  request.input = input.data();
  request.output = output.data();
  OperationRequest barrier = request_of(OperationKind::barrier, 0);
  host[0].start(request, 1, {}, start_time);
  host.settle();
  CHECK(host[0].any_missing());
  CHECK(host[0].missing() == std::vector{1, 2});
  CHECK(host[0].needs(2));
  CHECK(host[0].waits_for() == 1);
  host[2].start(barrier, 1, {}, start_time);
  host.settle();
  CHECK(host[0].state() == Communicator::State::mismatch);
  CHECK(host[2].state() == Communicator::State::mismatch);
  CHECK(output == std::vector<double>(4, -1));
  for (const int rank : {0, 2})
    host[rank].cancel();

  // The third rank sees both other calls, of which one differs.
  host[1].start(request, 1, {}, start_time);
  host.settle();
  CHECK(host[1].state() == Communicator::State::mismatch);
  host[1].cancel();
  CHECK(run(host, request_of(OperationKind::all_reduce, 9), 2)[1].output[8] == sum_at(3, 8));
}

TEST_CASE("the first time limit of all calls counts") {
  Host host(3);
  const OperationRequest barrier = request_of(OperationKind::barrier, 0);
  host[0].start(barrier, 1, {seconds(9), start_time + seconds(9)}, start_time);
  host[1].start(barrier, 1, {seconds(5), start_time + seconds(4)}, start_time);
  host.settle();
  CHECK(host[0].missing() == std::vector{2});
  CHECK(host[0].first_limit().timeout == seconds(5));
  CHECK(host[0].first_limit().end == start_time + seconds(4));
  CHECK(host[1].first_limit().end == start_time + seconds(4));
}

TEST_CASE("each call wakes the others once: at its first step, or when it is cancelled") {
  const HeapArea memory(2);
  int woken = 0;
  SharedCommunicator first(memory.of(0, nullptr, [&woken] { ++woken; }), {0, 1});
  SharedCommunicator second(memory.of(1), {0, 1});
  const OperationRequest barrier = request_of(OperationKind::barrier, 0);
  const OperationRequest other = request_of(OperationKind::all_reduce, 0);
  first.start(barrier, 1, {}, start_time);
  CHECK_FALSE((first.step(start_time) || first.step(start_time)));
  CHECK(woken == 1);
  second.start(barrier, 1, {}, start_time);
  for (const uint64_t sequence : {2, 3}) {
    first.step(start_time);
    second.step(start_time);
    second.start(sequence == 2 ? barrier : other, sequence, {}, start_time);
    first.start(barrier, sequence, {}, start_time);
    CHECK(first.step(start_time));
    CHECK(woken == static_cast<int>(sequence));
  }
  CHECK(first.state() == Communicator::State::mismatch);
  first.start(barrier, 4, {}, start_time);
  first.cancel();
  CHECK(woken == 4);
}

TEST_CASE("a large operation waits for the rank that is behind") {
  Host host(2, 1024);
  std::vector<double> zeros(2000);
  std::vector<OperationRequest> requests(2, request_of(OperationKind::all_reduce, 2000));
  for (int rank = 0; rank < 2; ++rank) {
    requests[static_cast<size_t>(rank)].input = zeros.data();
    requests[static_cast<size_t>(rank)].output = zeros.data();
    host[rank].start(requests[static_cast<size_t>(rank)], 1, {}, start_time);
  }
  while (host[0].step(start_time)) {
  }
  CHECK(host[0].state() == Communicator::State::running);
  CHECK(!host[0].any_missing());
  CHECK(host[0].waits_for() == 1);
  CHECK(host[0].needs(1));
  host[0].cancel();
  CHECK(host[0].state() == Communicator::State::idle);
  CHECK(!host[0].step(start_time));
}

/// The kinds that move data, beside those that reduce on all ranks.
constexpr OperationKind moving_kinds[] = {OperationKind::broadcast,  OperationKind::all_gather,
                                          OperationKind::gather,     OperationKind::scatter,
                                          OperationKind::all_to_all, OperationKind::all_to_all_v,
                                          OperationKind::reduce,     OperationKind::all_gather_v};

/// One call of every rank, with room for the inputs and outputs of each kind. The root is rank 0.
struct Calls {
  Calls(Host& ranks, OperationKind kind, size_t count) : host(ranks) {
    const auto size = static_cast<size_t>(host.size());
    inputs.assign(size, std::vector<double>(size * count, 5));
    outputs.assign(size, std::vector<double>(size * count, -1));
    for (size_t rank = 0; rank < size; ++rank) {
      OperationRequest request = request_of(kind, count);
      request.input = inputs[rank].data();
      request.output = outputs[rank].data();
      if (kind == OperationKind::all_to_all_v) request.counts.assign(size, count);
      if (has_own_counts(kind)) request.result = std::make_shared<OperationResult>();
      requests.push_back(std::move(request));
    }
  }
  void start(int rank) { host[rank].start(requests[static_cast<size_t>(rank)], 1, {}, start_time); }
  void start_all() {
    for (int rank = 0; rank < host.size(); ++rank)
      start(rank);
  }
  bool untouched(int rank) const {
    const auto at = static_cast<size_t>(rank);
    const std::vector<double>& output = outputs[at];
    const bool no_result = !requests[at].result || requests[at].result->data == nullptr;
    return no_result && output == std::vector<double>(output.size(), -1);
  }

  Host& host;
  std::vector<std::vector<double>> inputs;
  std::vector<std::vector<double>> outputs;
  std::vector<OperationRequest> requests;
};

TEST_CASE("a call of any kind that differs leaves all buffers as they are") {
  for (const OperationKind kind : moving_kinds) {
    for (const size_t count : {2, 3000}) {
      CAPTURE(static_cast<int>(kind));
      Host host(3, 1024);
      Calls calls(host, kind, count);
      calls.requests[1].name = "other";
      calls.start_all();
      host.settle();
      for (int rank = 0; rank < 3; ++rank) {
        CHECK(host[rank].state() == Communicator::State::mismatch);
        host[rank].cancel();
        CHECK(calls.untouched(rank));
      }
    }
  }
}

TEST_CASE("members that aborted a collective at different blocks run the next one") {
  for (const size_t aborts_after : {0, 1, 3}) {
    CAPTURE(aborts_after);
    Host host(3, 1024);
    Calls aborted(host, OperationKind::all_gather, 3000);
    aborted.start_all();
    for (size_t step = 0; step < aborts_after; ++step)
      host[1].step(start_time);
    for (const int rank : {0, 2})
      while (host[rank].step(start_time)) {
      }
    for (int rank = 0; rank < 3; ++rank)
      host[rank].cancel();
    const auto buffers = run(host, request_of(OperationKind::all_reduce, 3000), 2);
    for (const Buffers& own : buffers)
      for (size_t i = 0; i < 3000; ++i)
        REQUIRE(own.output[i] == sum_at(3, i));
  }
}

TEST_CASE("a call of any kind is cancelled while ranks are missing or blocks move") {
  for (const OperationKind kind : moving_kinds) {
    CAPTURE(static_cast<int>(kind));
    Host missing(3, 1024);
    Calls early(missing, kind, 3000);
    early.start(0);
    early.start(2);
    missing.settle();
    CHECK(missing[0].missing() == std::vector{1});
    CHECK(missing[0].waits_for() == 1);
    missing[0].cancel();
    CHECK(early.untouched(0));

    Host moving(3, 1024);
    Calls late(moving, kind, 3000);
    late.start_all();
    while (moving[0].step(start_time)) {
    }
    REQUIRE(moving[0].state() == Communicator::State::running);
    CHECK(!moving[0].any_missing());
    CHECK(moving[0].waits_for() >= 1);
    moving[0].cancel();
    if (has_own_counts(kind)) CHECK(late.requests[0].result->data == nullptr);
  }
}

TEST_CASE("a rank that only sends is done without a step of the root") {
  for (const OperationKind kind : {OperationKind::gather, OperationKind::reduce}) {
    Host host(2, 4096);
    Calls calls(host, kind, 600);
    calls.start_all();
    CHECK(calls.requests[1].peer == 0);
    // A reduction needs the root's input; its result does not wait for the root.
    while (host[1].step(start_time) ||
           (kind == OperationKind::reduce && host[0].step(start_time))) {
    }
    CHECK(host[1].state() == Communicator::State::done);
    host.settle();
    CHECK(host[0].state() == Communicator::State::done);
  }
}

TEST_CASE("ranks with counts of their own may be small and large in one call") {
  Host host(3, 1024);
  Calls calls(host, OperationKind::all_gather_v, 3000);
  calls.requests[0].count = 1;
  calls.requests[2].count = 0;
  calls.start_all();
  host.settle();
  for (const OperationRequest& request : calls.requests) {
    REQUIRE(request.result->counts == std::vector<size_t>{1, 3000, 0});
    const auto* data = reinterpret_cast<const double*>(request.result->data.get());
    CHECK(std::count(data, data + 3001, 5.0) == 3001);
  }
}

TEST_CASE("counts that do not fit into a mailbox are left to the links") {
  CHECK(SharedCommunicator::runs(OperationKind::all_to_all_v, 1024));
  CHECK(!SharedCommunicator::runs(OperationKind::all_to_all_v, 1025));
  CHECK(SharedCommunicator::runs(OperationKind::all_to_all, 5000));
}

}  // namespace
}  // namespace dt
