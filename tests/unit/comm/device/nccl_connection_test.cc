#include "comm/device/nccl_connection.h"

#include "comm/device/nccl_queue.h"
#include "tests/unit/comm/device/connected_ranks.h"

namespace dt {
namespace {

using Way = NcclConnection::Way;

TEST_CASE("ranks whose devices NCCL connects sum their numbers") {
  const ConnectedRanks world(3);
  std::vector<std::shared_ptr<NcclTask>> tasks;
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(world.decided(rank) == Way::nccl);
    tasks.push_back(world.sum(rank));
    world.ranks[rank]->begin(tasks.back());
  }
  for (size_t rank = 0; rank < 3; ++rank) {
    world.ranks[rank]->await_end(*tasks[rank]);
    CHECK(world.ranks[rank]->ended(*tasks[rank]).value());
    CHECK(values_of<float>(world.cpu.stream(rank), world.memory[rank], 3) ==
          std::vector<float>{6, 6, 6});
  }
}

TEST_CASE("sums up to the user's limit need no NCCL") {
  const ConnectedRanks world(3, "fail=ncclAllReduce:1", false, "64K");
  std::vector<std::shared_ptr<NcclTask>> tasks;
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(world.decided(rank) == Way::nccl);
  }
  for (int round = 1; round <= 3; ++round) {
    tasks.clear();
    for (size_t rank = 0; rank < 3; ++rank) {
      tasks.push_back(world.sum(rank));
      world.ranks[rank]->begin(tasks.back());
    }
    for (size_t rank = 0; rank < 3; ++rank) {
      world.ranks[rank]->await_end(*tasks[rank]);
      CHECK(world.ranks[rank]->ended(*tasks[rank]).value());
    }
  }
  for (size_t rank = 0; rank < 3; ++rank)
    CHECK(values_of<float>(world.cpu.stream(rank), world.memory[rank], 3) ==
          std::vector<float>{54, 54, 54});
}

TEST_CASE("other calls are NCCL's, between sums that need none") {
  const ConnectedRanks world(2, "", false, "64K");
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::sum, ReduceOp::max}) {
    std::vector<std::shared_ptr<NcclTask>> tasks;
    for (size_t rank = 0; rank < 2; ++rank) {
      REQUIRE(world.decided(rank) == Way::nccl);
      tasks.push_back(world.sum(rank));
      tasks[rank]->part.reduce = op;
      world.ranks[rank]->begin(tasks[rank]);
    }
    for (size_t rank = 0; rank < 2; ++rank)
      world.ranks[rank]->await_end(*tasks[rank]);
  }
  for (size_t rank = 0; rank < 2; ++rank)
    CHECK(values_of<float>(world.cpu.stream(rank), world.memory[rank], 3) ==
          std::vector<float>{4, 4, 4});
}

TEST_CASE("without a limit of the user, the ranks find one and sum") {
  const ConnectedRanks world(3, "", false, "");
  std::vector<std::shared_ptr<NcclTask>> tasks;
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(world.decided(rank) == Way::nccl);
    tasks.push_back(world.sum(rank));
    world.ranks[rank]->begin(tasks[rank]);
  }
  for (size_t rank = 0; rank < 3; ++rank) {
    world.ranks[rank]->await_end(*tasks[rank]);
    CHECK(values_of<float>(world.cpu.stream(rank), world.memory[rank], 3) ==
          std::vector<float>{6, 6, 6});
  }
}

TEST_CASE("a failure of NCCL while the ranks find the limit fails the connection") {
  const ConnectedRanks world(2, "fail=ncclAllReduce:2", false, "");
  const auto has_failed = [&](size_t rank) { return world.ranks[rank]->way() == Way::failed; };
  while (!has_failed(0) && !has_failed(1))
    std::this_thread::yield();
  // The other rank waits in NCCL. Its calls are staged, until the job ends.
  CHECK(world.ranks[has_failed(0) ? 1 : 0]->way() == Way::undecided);
}

TEST_CASE("a stop ends sums that wait for another rank's kernel") {
  const ConnectedRanks world(2, "", false, "64K");
  REQUIRE(world.decided(0) == Way::nccl);
  REQUIRE(world.decided(1) == Way::nccl);
  const auto task = world.sum(0);
  world.ranks[0]->begin(task);
  CHECK_FALSE(world.ranks[0]->ended(*task).value());
  world.ranks[0]->stop({Errc::peer_lost, "rank 1 died"});
  world.ranks[0]->await_end(*task);
  CHECK(world.ranks[0]->ended(*task).error() == Error{Errc::peer_lost, "rank 1 died"});
}

/// Begins the sums of two buffers as one bucket. Packed numbers are doubled, and so differ from
/// those before.
std::vector<std::shared_ptr<NcclTask>> begin_bucket(const ConnectedRanks& world,
                                                    const std::vector<DeviceBuffer>& buffers) {
  std::vector<std::shared_ptr<NcclTask>> tasks;
  for (const DeviceBuffer& buffer : buffers) {
    const auto task = tasks.emplace_back(world.sum(0));
    task->part.input = task->part.output = buffer.at();
    task->part.prescale = 2;
    world.ranks[0]->begin(task, {.index = static_cast<uint32_t>(tasks.size() - 1), .members = 2});
  }
  return tasks;
}

TEST_CASE("results that are queued behind an aborted call are not unpacked") {
  Gate gate;
  std::atomic<bool> counts = false;
  std::atomic<int> copies = 0;
  std::atomic<bool> stops = false;
  const ConnectedRanks world(1, "", false, "0", [&](const ProbedCall& call) -> Result<> {
    // The second copy unpacks. The connection waits for its stream when it has aborted NCCL.
    if (counts && call.runs && call.call == DeviceCall::copy && ++copies == 2) gate.pass();
    if (stops && call.call == DeviceCall::synchronize) gate.open();
    return {};
  });
  REQUIRE(world.decided(0) == Way::nccl);
  std::vector<DeviceBuffer> buffers;
  for (int i = 0; i < 2; ++i)
    buffers.push_back(on_device(world.cpu.stream(0), std::vector<float>{1, 2, 3}));
  counts = true;
  const auto tasks = begin_bucket(world, buffers);
  while (copies < 2)
    std::this_thread::yield();
  stops = true;
  world.ranks[0]->stop({Errc::peer_lost, "rank 1 died"});
  for (size_t i = 0; i < 2; ++i) {
    world.ranks[0]->await_end(*tasks[i]);
    CHECK(world.ranks[0]->ended(*tasks[i]).error().message == "rank 1 died");
    CHECK(values_of<float>(world.cpu.stream(0), buffers[i], 3) == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("results of a sum without NCCL that has ended early are not unpacked") {
  std::atomic<int> records = 0;
  const ConnectedRanks world(2, "", false, "64K", [&](const ProbedCall& call) -> Result<> {
    if (call.device == 0 && call.call == DeviceCall::record && !call.runs) ++records;
    return {};
  });
  REQUIRE(world.decided(0) == Way::nccl);
  REQUIRE(world.decided(1) == Way::nccl);
  std::vector<DeviceBuffer> buffers;
  for (int i = 0; i < 2; ++i)
    buffers.push_back(on_device(world.cpu.stream(0), std::vector<float>{1, 2, 3}));
  const int before = records;
  const auto tasks = begin_bucket(world, buffers);
  // The event behind the unpacking.
  while (records == before)
    std::this_thread::yield();
  world.ranks[0]->stop({Errc::peer_lost, "rank 1 died"});
  for (size_t i = 0; i < 2; ++i) {
    world.ranks[0]->await_end(*tasks[i]);
    CHECK(world.ranks[0]->ended(*tasks[i]).error().message == "rank 1 died");
    CHECK(values_of<float>(world.cpu.stream(0), buffers[i], 3) == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("a task waits for its input, and its plan runs around NCCL's part") {
  const ConnectedRanks world(1);
  REQUIRE(world.decided(0) == Way::nccl);
  Gate gate;
  const DeviceBuffer from = on_device(world.cpu.stream(0), std::vector<float>{0, 0, 0});
  std::vector<float> late = {4, 5, 6};
  CHECK(world.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  CHECK(world.cpu.stream(0).copy({from.at(), bytes_at(late), 12}));
  const auto task = world.sum(0);
  task->part.input = from.at();
  task->part.prescale = 3;
  task->part.postscale = 0.5;
  task->part.reduce = ReduceOp::average;
  task->ready = world.cpu.device(0).make_event().value();
  CHECK(world.cpu.stream(0).record(*task->ready));
  world.ranks[0]->begin(task);
  CHECK_FALSE(world.ranks[0]->ended(*task).value());
  gate.open();
  world.ranks[0]->await_end(*task);
  CHECK(world.ranks[0]->ended(*task).value());
  CHECK(values_of<float>(world.cpu.stream(0), world.memory[0], 3) == std::vector<float>{6, 7.5, 9});
  CHECK(values_of<float>(world.cpu.stream(0), from, 3) == std::vector<float>{4, 5, 6});
}

TEST_CASE("buckets are run in the order of their numbers, when all their tasks are here") {
  const ConnectedRanks world(2);
  std::vector<std::vector<DeviceBuffer>> memory(2);
  std::vector<std::vector<std::shared_ptr<NcclTask>>> tasks(2);
  const std::vector<NcclSlot> slots = {{.bucket = 0, .index = 1, .members = 2},
                                       {.bucket = 1},
                                       {.bucket = 0, .index = 0, .members = 2}};
  for (size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(world.decided(rank) == Way::nccl);
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto value = static_cast<float>(i + 1);
      auto task = world.sum(rank);
      task->part.output =
          memory[rank].emplace_back(on_device(world.cpu.stream(rank), std::vector(3, value))).at();
      task->part.input = task->part.output;
      task->part.prescale = value;
      tasks[rank].push_back(std::move(task));
    }
  }
  const auto begin = [&](size_t rank, size_t i) {
    world.ranks[rank]->begin(tasks[rank][i], slots[i]);
  };
  // The last of them makes both buckets run.
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}})
    begin(0, i);
  for (const size_t i : {size_t{1}, size_t{0}})
    begin(1, i);
  CHECK_FALSE(world.ranks[0]->ended(*tasks[0][1]).value());
  CHECK_FALSE(world.ranks[1]->ended(*tasks[1][1]).value());
  begin(1, 2);
  for (size_t rank = 0; rank < 2; ++rank) {
    for (size_t i = 0; i < slots.size(); ++i) {
      world.ranks[rank]->await_end(*tasks[rank][i]);
      const auto square = static_cast<float>((i + 1) * (i + 1));
      CHECK(values_of<float>(world.cpu.stream(rank), memory[rank][i], 3) ==
            std::vector<float>(3, 2 * square));
    }
  }
}

TEST_CASE("a bucket whose tasks are not all here fails with the connection") {
  const ConnectedRanks world(1);
  REQUIRE(world.decided(0) == Way::nccl);
  const auto task = world.sum(0);
  world.ranks[0]->begin(task, {.bucket = 0, .index = 1, .members = 2});
  world.ranks[0]->stop({Errc::peer_lost, "rank 1 died"});
  world.ranks[0]->await_end(*task);
  CHECK(world.ranks[0]->ended(*task).error().message == "rank 1 died");
}

TEST_CASE("a rank wishes what its connection can, and a failure only where NCCL is required") {
  {
    const ConnectedRanks world(2);
    world.decided(0);
    CHECK(world.ranks[0]->wish() == DeviceRoute::nccl);
  }
  {
    const ConnectedRanks world(2, "no_driver");
    world.decided(0);
    CHECK(world.ranks[0]->wish() == DeviceRoute::staged);
  }
  {
    const ConnectedRanks world(2, "no_driver", true);
    world.decided(0);
    CHECK(world.ranks[0]->wish() == DeviceRoute::failed);
  }
  const ConnectedRanks stopped(2);
  CHECK(stopped.ranks[0]->agreed() == DeviceRoute::undecided);
  stopped.ranks[0]->stop({Errc::os, "broken"});
  CHECK(stopped.ranks[0]->wish() == DeviceRoute::staged);
}

TEST_CASE("a stop ends tasks that other ranks do not join, and all later ones") {
  const ConnectedRanks world(2);
  REQUIRE(world.decided(0) == Way::nccl);
  const auto task = world.sum(0);
  world.ranks[0]->begin(task);
  world.ranks[0]->stop({Errc::peer_lost, "rank 1 died"});
  world.ranks[0]->stop({Errc::peer_lost, "rank 0 died"});
  world.ranks[0]->await_end(*task);
  CHECK(world.ranks[0]->ended(*task).error().message == "rank 1 died");
  CHECK(world.decided(0) == Way::failed);
  const auto later = world.sum(0);
  world.ranks[0]->begin(later);
  CHECK(world.ranks[0]->ended(*later).error().message == "rank 1 died");
}

TEST_CASE("a failure of NCCL fails the connection") {
  const ConnectedRanks world(1, "fail=ncclAllReduce:1");
  REQUIRE(world.decided(0) == Way::nccl);
  const auto task = world.sum(0);
  world.ranks[0]->begin(task);
  world.ranks[0]->await_end(*task);
  const Result<bool> ended = world.ranks[0]->ended(*task);
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error().message.find("ncclAllReduce") != std::string::npos);
}

TEST_CASE("a call in which the ranks differ is the reason, also behind an error of NCCL") {
  const ConnectedRanks world(1);
  REQUIRE(world.decided(0) == Way::nccl);
  world.ranks[0]->stop({Errc::os, "invalid usage"});
  world.ranks[0]->stop({Errc::peer_lost, "rank 1 cannot continue"});
  CHECK(world.ranks[0]->reason().message == "invalid usage");
  world.ranks[0]->stop({Errc::mismatch, "rank 1 differs"});
  CHECK(world.ranks[0]->reason().message == "rank 1 differs");
}

TEST_CASE("all ranks stage when none can join") {
  const ConnectedRanks world(2, "no_driver");
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    CHECK(world.decided(rank) == Way::staged);
    CHECK(world.ranks[rank]->reason().code == Errc::unsupported);
    // It has no effect on staged calls.
    world.ranks[rank]->stop({Errc::peer_lost, "rank 1 died"});
    CHECK(world.ranks[rank]->way() == Way::staged);
  }
}

TEST_CASE("a required NCCL that cannot join fails on all ranks") {
  const ConnectedRanks world(2, "no_driver", true);
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    CHECK(world.decided(rank) == Way::failed);
    const std::string text = world.ranks[rank]->reason().message;
    CHECK_MESSAGE(text.starts_with("DTRAIN_DEVICE_COLLECTIVES is nccl, but rank 0"), text);
  }
}

TEST_CASE("a rank that cannot join ends the wait of those that can") {
  const ConnectedRanks world(3, "fail=ncclCommInitRankConfig:3 once");
  // Earlier than the others' time limit.
  const Time end = much_later();
  for (const auto& rank : world.ranks) {
    while (rank->way() == Way::undecided && Clock::now() < end)
      std::this_thread::yield();
    CHECK(rank->way() == Way::staged);
    const std::string text = rank->reason().message;
    CHECK_MESSAGE(text.find("ncclCommInitRankConfig: internal error") != std::string::npos, text);
  }
}

TEST_CASE("ranks that NCCL has connected leave together") {
  ConnectedRanks world(2);
  world.ranks[0]->farewell(much_later());  // nothing was run
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    REQUIRE(world.decided(rank) == Way::nccl);
    world.ranks[rank]->agree(DeviceRoute::nccl);
  }
  const int before = world.store.timeouts();
  std::thread first([&] { world.ranks[1]->farewell(much_later()); });
  CHECK(world.store.use().wait("left/1", Duration::zero()).has_value());
  world.ranks[0]->farewell(much_later());
  first.join();
  CHECK(world.store.timeouts() == before);
}

TEST_CASE("a slow rank does not wait for one that has left together with it") {
  ConnectedRanks world(2);
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    REQUIRE(world.decided(rank) == Way::nccl);
    world.ranks[rank]->agree(DeviceRoute::nccl);
  }
  const int before = world.store.timeouts();
  // Rank 1 has set its key, but has not asked for others yet.
  REQUIRE(world.store.use().set("left/1", Bytes(1)).has_value());
  world.ranks[0]->farewell(much_later());
  world.store.end_contexts();
  world.ranks[1]->farewell(much_later());
  CHECK(world.store.timeouts() == before);
}

/// Returns the bytes of the devices that are in use when two ranks have left.
size_t used_after_leaving(const char* peer_max, bool both) {
  ConnectedRanks world(2, "", false, peer_max);
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    REQUIRE(world.decided(rank) == Way::nccl);
    world.ranks[rank]->agree(DeviceRoute::nccl);
  }
  std::thread other([&] {
    if (both) world.ranks[1]->farewell(much_later());
  });
  world.ranks[0]->farewell(both ? much_later() : Clock::now());
  other.join();
  for (const auto& rank : world.ranks)
    rank->close();
  world.ranks.clear();
  size_t used = 0;
  for (const auto& device : world.devices) {
    const DeviceMemory memory = device->device().memory();
    used += memory.total_bytes - memory.free_bytes;
  }
  return used;
}

TEST_CASE("memory for the other ranks' kernels is freed when all have closed it, and else never") {
  const size_t without = used_after_leaving("0", true);
  CHECK(used_after_leaving("64K", true) == without);
  CHECK(used_after_leaving("64K", false) > without);
}

TEST_CASE("the death of a rank ends the decision") {
  ConnectedRanks world(1);
  const auto alone = NcclConnection::start(
      {.self = {.rank = 1, .size = 2},
       .device = world.devices[0],
       .environment = {{"DTRAIN_CPU_DEVICES", "1"}, {"DTRAIN_NCCL_LIB", FAKE_NCCL}},
       .store = {.set = [](const auto&, const auto&) { return Result<>(); },
                 .wait = [](const auto&, Duration) -> Result<Bytes> {
                   return fail(Errc::peer_lost, "rank 0 died");
                 }}});
  while (alone->way() == Way::undecided)
    std::this_thread::yield();
  CHECK(alone->way() == Way::failed);
  CHECK(alone->reason().message == "rank 0 died");
}

}  // namespace
}  // namespace dt
