#include "comm/collective/scheduled_communicator.h"

#include "tests/unit/comm/transport/memory_link.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <numeric>
#include <vector>

namespace dt {
namespace {

using Ints = std::vector<int32_t>;

bool finished(const ScheduledCommunicator& communicator) {
  return communicator.state() == Communicator::State::done;
}

/// Passes the data frames of one rank to its communicator, and discards them without an operation.
class Receiver final : public MessageReceiver {
 public:
  ScheduledCommunicator* communicator = nullptr;

  Result<> control(const Message&, ByteSpan) override { return {}; }
  Result<PayloadTarget> place(const Message& message) override {
    if (communicator->state() == Communicator::State::done)
      return PayloadTarget{PayloadTarget::Action::discard};
    return communicator->place(message, false);
  }
  Result<> arrived(const Message& message) override { return communicator->arrived(message); }
};

/// The communicators of some ranks over links in memory, without agreement and without engines.
class Ring {
 public:
  explicit Ring(int size) : ranks_(static_cast<size_t>(size)) {
    for (int self = 0; self < size; ++self) {
      std::vector<MessageLink*> links;
      for (int other = 0; other < size; ++other)
        links.push_back(other == self ? nullptr : add_link(self, other));
      Rank& rank = ranks_[static_cast<size_t>(self)];
      rank.communicator =
          std::make_unique<ScheduledCommunicator>(Group{self, size}, std::move(links));
      rank.receiver.communicator = rank.communicator.get();
    }
  }

  ScheduledCommunicator& operator[](int rank) {
    return *ranks_[static_cast<size_t>(rank)].communicator;
  }
  MemoryPipe& pipe(int from, int to) { return *shared_pipe(from, to); }

  void start(int rank, const OperationRequest& request) { (*this)[rank].start(request, 1, {}, {}); }
  bool step(int rank) {
    Rank& self = ranks_[static_cast<size_t>(rank)];
    bool moved = false;
    for (const auto& link : self.links)
      moved |= *link->receive(self.receiver);
    moved |= self.communicator->step({});
    for (const auto& link : self.links)
      moved |= *link->flush();
    return moved;
  }
  void settle() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
        moved |= step(rank);
    }
  }

 private:
  struct Rank {
    std::unique_ptr<ScheduledCommunicator> communicator;
    Receiver receiver;
    std::vector<std::unique_ptr<MessageLink>> links;
    std::vector<std::unique_ptr<MemoryLink>> ends;
  };

  MessageLink* add_link(int self, int other) {
    Rank& rank = ranks_[static_cast<size_t>(self)];
    rank.ends.push_back(
        std::make_unique<MemoryLink>(shared_pipe(self, other), shared_pipe(other, self)));
    rank.links.push_back(std::make_unique<MessageLink>(
        MessageLink::Options{.link = rank.ends.back().get(), .peer = other}));
    return rank.links.back().get();
  }
  std::shared_ptr<MemoryPipe> shared_pipe(int from, int to) {
    std::shared_ptr<MemoryPipe>& pipe = pipes_[{from, to}];
    if (!pipe) pipe = std::make_shared<MemoryPipe>();
    return pipe;
  }

  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::shared_ptr<MemoryPipe>> pipes_;
};

Ints counted(size_t count, int first) {
  Ints values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

OperationRequest on_ints(OperationKind kind, size_t count, const Ints& input, Ints& output) {
  return {.kind = kind,
          .type = ElementType::int32,
          .count = count,
          .input = input.data(),
          .output = output.data()};
}

TEST_CASE("an out-of-place all_reduce leaves the output alone until data arrives") {
  Ring ring(3);
  const Ints input = counted(30'000, 1);
  std::vector<Ints> outputs(3, Ints(30'000, -1));
  std::vector<OperationRequest> requests;
  for (Ints& output : outputs)
    requests.push_back(on_ints(OperationKind::all_reduce, input.size(), input, output));
  ring.start(0, requests[0]);
  while (ring.step(0)) {
  }
  CHECK(outputs[0] == Ints(30'000, -1));
  ring.start(1, requests[1]);
  ring.start(2, requests[2]);
  ring.settle();
  for (const Ints& output : outputs)
    for (size_t i = 0; i < output.size(); ++i)
      REQUIRE(output[i] == 3 * input[i]);
  CHECK(input == counted(30'000, 1));
}

TEST_CASE("a held operation sends nothing and leaves its buffers alone until its release") {
  Ring ring(2);
  const Ints input = counted(3'000, 1);
  std::vector<Ints> outputs(2, Ints(3'000, -1));
  std::vector<OperationRequest> requests;
  for (Ints& output : outputs)
    requests.push_back(on_ints(OperationKind::all_reduce, input.size(), input, output));
  for (OperationRequest& request : requests)
    request.reduce = ReduceOp::average;
  const Steps steps = *steps_of({0, 2}, {.kind = OperationKind::all_reduce, .count = 3'000},
                                Algorithm::recursive_doubling);
  ring[0].start_held(requests[0], 1, steps, 4'000);
  requests[1].algorithm = Algorithm::recursive_doubling;
  ring.start(1, requests[1]);
  ring.settle();
  CHECK(ring.pipe(0, 1).bytes.empty());
  CHECK(ring[0].waits_for() == -1);
  CHECK(outputs[0] == Ints(3'000, -1));
  ring[0].release();
  ring.settle();
  REQUIRE(finished(ring[0]));
  REQUIRE(finished(ring[1]));
  for (size_t i = 0; i < input.size(); ++i) {
    REQUIRE(outputs[0][i] == 2 * input[i]);  // its owner divides
    REQUIRE(outputs[1][i] == input[i]);
  }
}

TEST_CASE("after cancel no buffer of the user is touched") {
  for (const auto kind : {OperationKind::all_reduce, OperationKind::reduce_scatter,
                          OperationKind::all_gather, OperationKind::all_to_all}) {
    CAPTURE(static_cast<int>(kind));
    Ring ring(3);
    constexpr size_t count = 90'000;
    for (int from = 0; from < 3; ++from)
      for (int to = 0; to < 3; ++to)
        if (from != to) ring.pipe(from, to).capacity = 1000;
    std::vector<Ints> inputs(3, counted(3 * count, 1));
    std::vector<Ints> outputs(3, Ints(3 * count));
    std::vector<OperationRequest> requests;
    for (size_t rank = 0; rank < 3; ++rank)
      requests.push_back(on_ints(kind, count, inputs[rank], outputs[rank]));
    for (int rank = 0; rank < 3; ++rank)
      ring.start(rank, requests[static_cast<size_t>(rank)]);
    for (int step = 0; step < 20; ++step)
      for (int rank = 0; rank < 3; ++rank)
        ring.step(rank);
    REQUIRE(!finished(ring[1]));
    ring[1].cancel();
    CHECK(finished(ring[1]));
    // A use after free would show under a sanitizer, and a write in the copy.
    inputs[1] = {};
    Ints().swap(inputs[1]);
    const Ints before = outputs[1];
    ring.settle();
    CHECK(outputs[1] == before);
  }
}

TEST_CASE("after cancel the result of ragged calls is released") {
  Ring ring(2);
  const Ints input = counted(200'000, 1);
  std::vector<OperationRequest> requests(2);
  for (OperationRequest& request : requests) {
    request = {.kind = OperationKind::all_gather_v,
               .type = ElementType::int32,
               .count = input.size(),
               .input = input.data(),
               .result = std::make_shared<OperationResult>()};
  }
  ring.pipe(0, 1).capacity = 5000;
  for (int rank = 0; rank < 2; ++rank)
    ring.start(rank, requests[static_cast<size_t>(rank)]);
  for (int step = 0; step < 20; ++step)
    for (int rank = 0; rank < 2; ++rank)
      ring.step(rank);
  REQUIRE(requests[1].result->data != nullptr);
  REQUIRE(!finished(ring[1]));
  ring[1].cancel();
  CHECK(requests[1].result->data == nullptr);
  CHECK(requests[1].result->counts.empty());
  ring.settle();
}

TEST_CASE("work memory is kept up to its limit") {
  WorkMemory memory;
  std::byte* small = memory.reserve(100);
  CHECK(memory.reserve(50) == small);
  memory.trim();
  CHECK(memory.bytes() == 100);
  memory.reserve(WorkMemory::kept_bytes_max + 1);
  memory.trim();
  CHECK(memory.bytes() == 0);
}

}  // namespace
}  // namespace dt
