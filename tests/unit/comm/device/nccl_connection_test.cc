#include "comm/device/nccl_connection.h"

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

TEST_CASE("buckets are played in the order of their numbers, when all their tasks are here") {
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
  // The last of them makes both buckets play.
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

TEST_CASE("memory of tasks is used again") {
  const ConnectedRanks world(1);
  // The connection has enough for small ones.
  CHECK(world.ranks[0]->take_memory(size_t{1} << 20).value().at() == nullptr);
  DeviceBuffer first = world.ranks[0]->take_memory(3'000'000).value();
  const std::byte* const at = first.at();
  const DeviceBuffer second = world.ranks[0]->take_memory(3'000'000).value();
  CHECK(second.at() != at);
  world.ranks[0]->keep_memory(std::move(first));
  const DeviceBuffer larger = world.ranks[0]->take_memory(5'000'000).value();
  CHECK(larger.at() != at);
  const DeviceBuffer again = world.ranks[0]->take_memory(2'900'000).value();
  CHECK(again.at() == at);
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

TEST_CASE("ranks that NCCL has connected leave together") {
  ConnectedRanks world(2);
  world.ranks[0]->farewell();  // nothing was played
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    REQUIRE(world.decided(rank) == Way::nccl);
    world.ranks[rank]->agree(DeviceRoute::nccl);
  }
  std::thread first([&] { world.ranks[0]->farewell(); });
  CHECK(world.store.use().wait("left/0", Duration::zero()).has_value());
  world.ranks[1]->farewell();
  first.join();
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
