#include "gpu/nccl/nccl_device.h"

#include "tests/unit/gpu/cpu_devices.h"
#include "tests/unit/gpu/nccl/fake_ranks.h"

#include <functional>
#include <thread>
#include <vector>

namespace dt {
namespace {

/// Runs the program at each of `size` ranks, which have a device of the CPU each.
void run_devices(const FakeRanks& ranks, int size,
                 const std::function<void(NcclDevice&, DeviceStream&, int)>& program) {
  const NcclUniqueId id = make_nccl_id(ranks.nccl).value();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const CpuDevices cpu({});
      auto joined = NcclDevice::join(ranks.nccl, {.id = id, .rank = rank, .size = size},
                                     cpu.stream(0), FakeRanks::later());
      REQUIRE(joined.has_value());
      program(**joined, cpu.stream(0), rank);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST_CASE("tensors of a device are reduced in place, after the work before them") {
  const FakeRanks ranks("");
  run_devices(ranks, 3, [](NcclDevice& nccl, DeviceStream& stream, int rank) {
    const DeviceBuffer floats = on_device(stream, std::vector<float>{1, 2});
    const DeviceBuffer ints = on_device(stream, std::vector<int>{rank, rank});
    Gate gate;
    CHECK(stream.run_on_host([&] { gate.pass(); }).has_value());
    CHECK(stream.fill(ints.at(), std::byte{0}, sizeof(int)).has_value());
    std::thread opener([&] { gate.open(); });
    const std::vector<NcclTensor> tensors = {{ElementType::float32, 2, floats.at()},
                                             {ElementType::float64, 0, nullptr},
                                             {ElementType::int32, 2, ints.at()}};
    CHECK(nccl.all_reduce(tensors, ReduceOp::sum, FakeRanks::later()).has_value());
    opener.join();
    CHECK(values_of<float>(stream, floats, 2) == std::vector<float>{3, 6});
    CHECK(values_of<int>(stream, ints, 2) == std::vector<int>{0, 3});
    CHECK(nccl.all_reduce(tensors, ReduceOp::max, FakeRanks::later()).has_value());
    CHECK(values_of<int>(stream, ints, 2) == std::vector<int>{0, 3});
  });
}

TEST_CASE("can_reduce knows NCCL's types and operations") {
  CHECK(NcclDevice::can_reduce(ElementType::bfloat16, ReduceOp::sum));
  CHECK_FALSE(NcclDevice::can_reduce(ElementType::int16, ReduceOp::sum));
  CHECK_FALSE(NcclDevice::can_reduce(ElementType::float8_e4m3, ReduceOp::sum));
  CHECK_FALSE(NcclDevice::can_reduce(ElementType::float32, ReduceOp::average));
}

TEST_CASE("a failure is final, and frees the communicator") {
  const FakeRanks ranks("fail=ncclAllReduce:1");
  run_devices(ranks, 1, [](NcclDevice& nccl, DeviceStream& stream, int) {
    const DeviceBuffer buffer = on_device(stream, std::vector<float>{1});
    const NcclTensor tensor = {ElementType::float32, 1, buffer.at()};
    check_error(nccl.all_reduce({&tensor, 1}, ReduceOp::sum, FakeRanks::later()), Errc::os,
                "ncclAllReduce: internal error");
    check_error(nccl.all_reduce({&tensor, 1}, ReduceOp::sum, FakeRanks::later()), Errc::closed,
                "the communicator of NCCL has failed, and is unusable");
  });
}

TEST_CASE("a watch and a deadline end the wait for a device") {
  const FakeRanks ranks("");
  // The stream may pass a gate after the test of its device has returned.
  Gate before_deadline;
  Gate before_watch;
  run_devices(ranks, 1, [&](NcclDevice& nccl, DeviceStream& stream, int) {
    const DeviceBuffer buffer = on_device(stream, std::vector<float>{1});
    const NcclTensor tensor = {ElementType::float32, 1, buffer.at()};
    CHECK(stream.run_on_host([&] { before_deadline.pass(); }).has_value());
    check_error(nccl.all_reduce({&tensor, 1}, ReduceOp::sum, {.deadline = Clock::now()}),
                Errc::timeout, "cpu:0: NCCL has not reduced in time");
    before_deadline.open();
  });
  run_devices(ranks, 1, [&](NcclDevice& nccl, DeviceStream& stream, int) {
    const DeviceBuffer buffer = on_device(stream, std::vector<float>{1});
    const NcclTensor tensor = {ElementType::float32, 1, buffer.at()};
    CHECK(stream.run_on_host([&] { before_watch.pass(); }).has_value());
    const NcclWait wait = {.watch = [] { return Result<>(fail(Errc::peer_lost, "rank 3 died")); }};
    check_error(nccl.all_reduce({&tensor, 1}, ReduceOp::sum, wait), Errc::peer_lost, "rank 3 died");
    before_watch.open();
  });
}

}  // namespace
}  // namespace dt
