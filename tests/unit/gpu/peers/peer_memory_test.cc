#include "gpu/peers/peer_memory.h"

#include "gpu/kernels/peer_sum_on_host.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <thread>

namespace dt {
namespace {

/// Ranks with a device of the CPU each, in worlds of their own as in processes.
struct Peers {
  explicit Peers(size_t size, PeerMeeting meeting = PeerMeeting::kernels,
                 size_t data_bytes = size_t{2} << 20) {
    std::vector<PeerMemoryOffer> offers;
    for (size_t rank = 0; rank < size; ++rank) {
      worlds.push_back(std::make_unique<CpuDevices>(CpuDeviceOptions{.count = 1}));
      memory.push_back(PeerMemory::allocate(worlds[rank]->device(0), data_bytes).value());
      const Bytes sent = encode(memory[rank]->offer().value());
      offers.push_back(decode_peer_memory_offer(sent).value());
    }
    for (size_t rank = 0; rank < size; ++rank)
      REQUIRE(memory[rank]->open(static_cast<int>(rank), offers, meeting).has_value());
  }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers() {
    for (const auto& rank : memory)
      rank->stop();
  }
  DeviceStream& stream(size_t rank) const { return worlds[rank]->stream(0); }
  /// Waits for a rank's stream, and asks for its status meanwhile.
  void finish(size_t rank) const {
    while (true) {
      const Result<> ended = stream(rank).synchronize(Clock::now() + milliseconds(1));
      if (ended) return;
      REQUIRE(ended.error().code == Errc::timeout);
      (void)memory[rank]->status();
    }
  }

  /// Sums `rounds` times; rank r begins with `value(r, element)`. Returns the values of all ranks.
  template <class Value>
  std::vector<std::vector<float>> sum(int rounds, size_t count, const Value& value) const {
    std::vector<DeviceBuffer> buffers;
    for (size_t rank = 0; rank < memory.size(); ++rank) {
      std::vector<float> values(count);
      for (size_t i = 0; i < count; ++i)
        values[i] = value(rank, i);
      buffers.push_back(on_device(stream(rank), values));
    }
    for (int round = 0; round < rounds; ++round) {
      for (size_t rank = 0; rank < memory.size(); ++rank) {
        const PeerSum call = {.count = count, .from = buffers[rank].at(), .to = buffers[rank].at()};
        REQUIRE(memory[rank]->sum(stream(rank), call).has_value());
      }
    }
    std::vector<std::vector<float>> results;
    for (size_t rank = 0; rank < memory.size(); ++rank) {
      results.push_back(values_of<float>(stream(rank), buffers[rank], count));
      CHECK(memory[rank]->status().has_value());
    }
    return results;
  }

  std::vector<std::unique_ptr<CpuDevices>> worlds = {};
  std::vector<std::unique_ptr<PeerMemory>> memory = {};
};

constexpr PeerMeeting meetings[] = {PeerMeeting::kernels, PeerMeeting::streams};

void check_sums(size_t ranks, PeerMeeting meeting) {
  const auto value = [](size_t rank, size_t i) {
    return static_cast<float>(rank + 1) * 0.1F + static_cast<float>(i % 89) * 1e-3F;
  };
  const Peers peers(ranks, meeting);
  for (const size_t count : {1, 7, 5000, 200'000}) {
    CAPTURE(ranks);
    CAPTURE(count);
    std::vector<float> expected(count);
    for (size_t i = 0; i < count; ++i) {
      expected[i] = value(0, i);
      for (size_t rank = 1; rank < ranks; ++rank)
        expected[i] += value(rank, i);
    }
    for (const std::vector<float>& result : peers.sum(1, count, value))
      CHECK(result == expected);
  }
}

// Ranks that meet by streams are one-shot always.
TEST_CASE("ranks sum in the order of ranks, small calls one-shot and large ones two-shot") {
  for (const PeerMeeting meeting : meetings) {
    for (const size_t ranks : {1, 2, 3, 5})
      check_sums(ranks, meeting);
  }
}

TEST_CASE("sums follow each other without the host") {
  const auto value = [](size_t rank, size_t) { return static_cast<float>(rank); };
  for (const PeerMeeting meeting : meetings) {
    const Peers peers(3, meeting);
    // 0 + 1 + 2, then three times as much each time.
    for (const size_t count : {100, 150'000}) {
      for (const std::vector<float>& result : peers.sum(12, count, value))
        CHECK(result == std::vector<float>(count, 3 * 177147.0F));
    }
  }
}

TEST_CASE("a rank that does not come is named when the patience of its peers ends") {
  for (const PeerMeeting meeting : meetings) {
    const Peers peers(2, meeting, size_t{1} << 16);
    const DeviceBuffer buffer = on_device(peers.stream(0), std::vector<float>{1, 2, 3});
    const PeerSum sum = {
        .count = 3, .from = buffer.at(), .to = buffer.at(), .patience = Duration(1)};
    REQUIRE(peers.memory[0]->sum(peers.stream(0), sum));
    peers.finish(0);
    check_error(peers.memory[0]->status(), Errc::timeout,
                "rank 1 has not begun the same sum in time");
    CHECK(values_of<float>(peers.stream(0), buffer, 3) == std::vector<float>{1, 2, 3});
    CHECK(peers.memory[1]->status());
  }
}

TEST_CASE("a stop ends sums that wait") {
  for (const PeerMeeting meeting : meetings) {
    const Peers peers(3, meeting);
    const DeviceBuffer buffer = on_device(peers.stream(0), std::vector<float>{1, 2, 3});
    for (int i = 0; i < 3; ++i) {
      REQUIRE(peers.memory[0]->sum(peers.stream(0),
                                   {.count = 3, .from = buffer.at(), .to = buffer.at()}));
    }
    peers.memory[0]->stop();
    // These set the flags of the first sum, which rank 0 does not wait for any more.
    for (const size_t rank : {1, 2}) {
      const DeviceBuffer late = on_device(peers.stream(rank), std::vector<float>{1, 2, 3});
      REQUIRE(peers.memory[rank]->sum(peers.stream(rank),
                                      {.count = 3, .from = late.at(), .to = late.at()}));
      peers.memory[rank]->stop();
      peers.finish(rank);
    }
    peers.finish(0);
    check_error(peers.memory[0]->status(), Errc::closed,
                "the sums of this host's GPUs were stopped");
  }
}

TEST_CASE("waits that have ended stay so when a late rank sets its flag once more") {
  const Peers peers(2, PeerMeeting::streams);
  Gate gate;
  REQUIRE(peers.stream(0).run_on_host([&] { gate.pass(); }));
  const DeviceBuffer own = peers.worlds[0]->device(0).allocate(sizeof(float)).value();
  for (int i = 0; i < 3; ++i) {
    const PeerSum sum = {.count = 1, .from = own.at(), .to = own.at()};
    REQUIRE(peers.memory[0]->sum(peers.stream(0), sum));
  }
  peers.memory[0]->stop();
  // Rank 1 began this before it could see that rank 0 has stopped.
  const DeviceBuffer opened =
      peers.worlds[1]->device(0).open_shared(peers.memory[0]->offer().value().handle).value();
  auto& signals = *reinterpret_cast<PeerSignals*>(opened.at());
  while (SystemOrder::acquire(&signals.flags[0][0][1]) == 0)
    std::this_thread::yield();
  SystemOrder::release(&signals.flags[0][0][1], 1);
  gate.open();
  peers.finish(0);
  check_error(peers.memory[0]->status(), Errc::closed, "the sums of this host's GPUs were stopped");
}

TEST_CASE("a rank whose sum has failed announces no later one") {
  for (const PeerMeeting meeting : meetings) {
    const Peers peers(2, meeting, size_t{1} << 16);
    const auto begin = [&](size_t rank, const DeviceBuffer& buffer) {
      return peers.memory[rank]->sum(
          peers.stream(rank),
          {.count = 1, .from = buffer.at(), .to = buffer.at(), .patience = Duration(1)});
    };
    const DeviceBuffer early = on_device(peers.stream(0), std::vector<float>{1});
    REQUIRE(begin(0, early));
    REQUIRE(begin(0, early));
    peers.finish(0);
    CHECK_FALSE(peers.memory[0]->status());
    // Rank 0 has announced the first sum, which rank 1 can make.
    const DeviceBuffer late = on_device(peers.stream(1), std::vector<float>{2});
    REQUIRE(begin(1, late));
    REQUIRE(peers.stream(1).synchronize(much_later()));
    CHECK(peers.memory[1]->status());
    CHECK(values_of<float>(peers.stream(1), late, 1).front() == 3);
    REQUIRE(begin(1, late));
    peers.finish(1);
    check_error(peers.memory[1]->status(), Errc::timeout,
                "rank 0 has not begun the same sum in time");
    CHECK(values_of<float>(peers.stream(1), late, 1).front() == 3);
  }
}

TEST_CASE("copies behind a sum are skipped when it has no result, in this call or an earlier one") {
  const auto copy_behind = [](const Peers& peers, float value) {
    DeviceStream& stream = peers.stream(0);
    const DeviceBuffer from = on_device(stream, std::vector<float>{value});
    const DeviceBuffer to = on_device(stream, std::vector<float>{-1});
    const DeviceBuffer sum = on_device(stream, std::vector<float>{value});
    REQUIRE(peers.memory[0]->sum(
        stream, {.count = 1, .from = sum.at(), .to = sum.at(), .patience = Duration(1)}));
    REQUIRE(stream.copy_pieces({.from = CopyFormat::float32,
                                .to = CopyFormat::float32,
                                .pieces = {{from.at(), to.at(), 1}},
                                .skip = peers.memory[0]->failed()}));
    peers.finish(0);
    return values_of<float>(stream, to, 1).front();
  };
  for (const PeerMeeting meeting : meetings) {
    const Peers one(1, meeting);
    CHECK(copy_behind(one, 5) == 5);
    const Peers two(2, meeting);
    CHECK(copy_behind(two, 5) == -1);
    CHECK(copy_behind(two, 6) == -1);
  }
}

TEST_CASE("memory shrinks where a device has too little, and all ranks use the least") {
  const CpuDevices small({.count = 1, .memory_bytes = size_t{1} << 20});
  const CpuDevices large({.count = 1});
  const auto first = PeerMemory::allocate(small.device(0), size_t{1} << 20).value();
  const auto second = PeerMemory::allocate(large.device(0), size_t{1} << 20).value();
  CHECK(first->data_bytes() == size_t{1} << 17);
  CHECK(second->data_bytes() == size_t{1} << 20);
  const std::vector<PeerMemoryOffer> offers = {first->offer().value(), second->offer().value()};
  REQUIRE(first->open(0, offers, PeerMeeting::kernels));
  REQUIRE(second->open(1, offers, PeerMeeting::kernels));
  CHECK(second->data_bytes() == size_t{1} << 17);

  const CpuDevices none({.count = 1, .memory_bytes = size_t{1} << 17});
  const auto refused = PeerMemory::allocate(none.device(0), size_t{1} << 20);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::out_of_memory);
}

TEST_CASE("memory that was offered is freed only when all others have closed it") {
  const auto free_bytes = [](const Peers& peers, size_t rank) {
    return peers.worlds[rank]->device(0).memory().free_bytes;
  };
  for (const PeerMeeting meeting : {PeerMeeting::kernels, PeerMeeting::streams}) {
    Peers peers(2, meeting);
    const size_t before = free_bytes(peers, 0);
    peers.sum(1, 100, [](size_t rank, size_t) { return static_cast<float>(rank); });
    for (const auto& rank : peers.memory)
      rank->close();
    // It needs no memory of others.
    peers.memory[0]->stop();
    peers.memory[0]->note_all_closed();
    peers.memory.clear();
    CHECK(free_bytes(peers, 0) == size_t{1} << 30);
    CHECK(free_bytes(peers, 1) == before);
  }
}

TEST_CASE("memory that was not offered is freed") {
  const CpuDevices world({.count = 1});
  PeerMemory::allocate(world.device(0), 1000).value().reset();
  CHECK(world.device(0).memory().free_bytes == size_t{1} << 30);
}

TEST_CASE("offers that no rank makes are refused") {
  const CpuDevices world({.count = 1});
  const auto memory = PeerMemory::allocate(world.device(0), 1000).value();
  const PeerMemoryOffer offer = memory->offer().value();
  CHECK(offer.data_bytes == size_t{64} << 10);
  CHECK(decode_peer_memory_offer(encode(offer)).has_value());
  const auto refused = [](const PeerMemoryOffer& wrong) {
    check_error(decode_peer_memory_offer(encode(wrong)), Errc::protocol,
                "offer of memory for peers is cut short");
  };
  PeerMemoryOffer wrong = offer;
  wrong.data_bytes = 1024;
  refused(wrong);
  wrong = offer;
  ++wrong.data_bytes;
  refused(wrong);
  wrong = offer;
  wrong.blocks = 0;
  refused(wrong);
  wrong.blocks = peer_blocks_max + 1;
  refused(wrong);

  const CpuDevices other({.count = 1});
  const auto peer = PeerMemory::allocate(other.device(0), 1000).value();
  wrong = peer->offer().value();
  wrong.data_bytes *= 2;
  check_error(memory->open(0, std::vector{offer, wrong}, PeerMeeting::kernels), Errc::protocol,
              "memory of rank 1 is smaller than it says");
  wrong = offer;
  wrong.handle.clear();
  check_error(memory->open(0, std::vector{offer, wrong}, PeerMeeting::kernels), Errc::protocol,
              "memory of rank 1: handle of memory of a CPU device is cut short");
}

}  // namespace
}  // namespace dt
