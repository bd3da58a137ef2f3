#include "gpu/nccl/nccl_devices.h"

#include "tests/unit/gpu/cpu_devices.h"
#include "tests/unit/gpu/nccl/fake_ranks.h"

#include <array>
#include <thread>
#include <vector>

namespace dt {
namespace {

/// Three devices of the CPU in one process, with two floats each.
struct ThreeDevices {
  explicit ThreeDevices(const FakeRanks& ranks) : nccl(ranks.nccl) {
    for (size_t i = 0; i < 3; ++i) {
      streams.push_back(&cpu.stream(i));
      const auto value = static_cast<float>(i + 1);
      inputs.push_back(on_device(cpu.stream(i), std::vector<float>{value, 10 * value}));
      outputs.push_back(on_device(cpu.stream(i), std::vector<float>{0, 0}));
      from.push_back(inputs[i].at());
      to.push_back(outputs[i].at());
    }
  }
  Result<std::unique_ptr<NcclDevices>> join(const NcclWait& wait = FakeRanks::later()) const {
    return NcclDevices::join(nccl, streams, wait);
  }
  NcclArrays arrays() const { return {.count = 2, .inputs = from, .outputs = to}; }
  std::vector<float> output(size_t i) const {
    return values_of<float>(cpu.stream(i), outputs[i], 2);
  }

  NcclLibrary nccl;
  CpuDevices cpu{{.count = 3}};
  std::vector<DeviceStream*> streams = {};
  std::vector<DeviceBuffer> inputs = {};
  std::vector<DeviceBuffer> outputs = {};
  std::vector<const std::byte*> from = {};
  std::vector<std::byte*> to = {};
};

TEST_CASE("the stand-in refuses joins of one thread outside a group, as NCCL's guide does") {
  const FakeRanks ranks("");
  const NcclUniqueId id = make_nccl_id(ranks.nccl).value();
  NcclConfig config;
  NcclComm comms[] = {nullptr, nullptr};
  CHECK(ranks.nccl->comm_init(&comms[0], 2, id, 0, &config) == NcclStatus::in_progress);
  CHECK(ranks.nccl->comm_init(&comms[1], 2, id, 1, &config) == NcclStatus::invalid_usage);
  for (NcclComm comm : comms)
    if (comm != nullptr) ranks.nccl->comm_abort(comm);
}

TEST_CASE("one thread reduces over all devices of its process, behind the work of each stream") {
  const FakeRanks ranks("");
  const ThreeDevices devices(ranks);
  const auto nccl = devices.join().value();
  Gate gate;
  CHECK(devices.streams[1]->run_on_host([&] { gate.pass(); }).has_value());
  CHECK(devices.streams[1]
            ->fill(devices.inputs[1].at(), std::byte{0}, 2 * sizeof(float))
            .has_value());
  std::thread opener([&] { gate.open(); });
  CHECK(nccl->all_reduce(devices.arrays(), NcclOp::sum, FakeRanks::later()).has_value());
  opener.join();
  for (size_t i = 0; i < 3; ++i)
    CHECK(devices.output(i) == std::vector<float>{4, 40});
  CHECK(nccl->all_reduce(devices.arrays(), NcclOp::product, FakeRanks::later()).has_value());
  CHECK(nccl->finish(FakeRanks::later()).has_value());
  CHECK(devices.output(2) == std::vector<float>{0, 0});
}

TEST_CASE("a device that cannot join ends the wait of the others") {
  for (const char* const fault : {"fail=ncclCommInitRankConfig:2", "fail=ncclGetUniqueId:1"}) {
    const FakeRanks ranks(fault);
    const ThreeDevices devices(ranks);
    const auto joined = devices.join();
    REQUIRE_FALSE(joined.has_value());
    CHECK(joined.error().code == Errc::os);
    CHECK(joined.error().message.ends_with(": internal error"));
  }
  const FakeRanks ranks("hang=ncclCommInitRankConfig");
  const ThreeDevices devices(ranks);
  CHECK(devices.join({.deadline = Clock::now()}).error() ==
        Error{Errc::timeout, "ncclCommInitRankConfig: NCCL has not completed it in time"});
}

TEST_CASE("a failure of one device's call is final for all of them") {
  // The calls of the second all_reduce are the fourth to the sixth. The join is a group, too.
  for (const char* const fault : {"fail=ncclAllReduce:5", "fail=ncclGroupStart:3"}) {
    const FakeRanks ranks(fault);
    const ThreeDevices devices(ranks);
    const auto nccl = devices.join().value();
    CHECK(nccl->all_reduce(devices.arrays(), NcclOp::sum, FakeRanks::later()).has_value());
    const auto failed = nccl->all_reduce(devices.arrays(), NcclOp::sum, FakeRanks::later());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == Errc::os);
    CHECK(failed.error().message.ends_with(": internal error"));
    const auto later = nccl->all_reduce(devices.arrays(), NcclOp::sum, FakeRanks::later());
    CHECK(later.error() ==
          Error{Errc::closed, "NCCL has failed before: " + failed.error().message});
  }
  const FakeRanks ranks("hang=ncclAllReduce");
  const ThreeDevices devices(ranks);
  const auto nccl = devices.join().value();
  const auto late = nccl->all_reduce(devices.arrays(), NcclOp::sum, {.deadline = Clock::now()});
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == Errc::timeout);
}

TEST_CASE("the failure of one device ends the wait for the others, and is the error") {
  Gate gate;  // outlives the streams
  const FakeRanks ranks("");
  {
    const CpuDevices cpu({.count = 2, .probe = [](const ProbedCall& call) -> Result<> {
                            if (call.call == DeviceCall::fill && call.runs)
                              return fail(Errc::os, "injected");
                            return {};
                          }});
    const auto nccl =
        NcclDevices::join(ranks.nccl, {&cpu.stream(0), &cpu.stream(1)}, FakeRanks::later()).value();
    CHECK(nccl->finish(FakeRanks::later()).has_value());
    // As a kernel of NCCL that waits for the other device.
    CHECK(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
    const DeviceBuffer memory = cpu.device(1).allocate(256).value();
    CHECK(cpu.stream(1).fill(memory.at(), std::byte{1}, 256).has_value());
    const auto failed = nccl->finish(FakeRanks::later());
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().message.ends_with("injected"));
    CHECK(nccl->all_reduce({}, NcclOp::sum, FakeRanks::later()).error().code == Errc::closed);
    gate.open();
  }
}

TEST_CASE("work that does not end in time is aborted") {
  Gate gate;  // outlives the streams
  const FakeRanks ranks("");
  const ThreeDevices devices(ranks);
  const auto nccl = devices.join().value();
  CHECK(devices.streams[2]->run_on_host([&] { gate.pass(); }).has_value());
  CHECK(nccl->finish({.deadline = Clock::now()}).error() ==
        Error{Errc::timeout, "NCCL and the devices have not ended their work in time"});
  CHECK(nccl->all_reduce(devices.arrays(), NcclOp::sum, FakeRanks::later()).error().code ==
        Errc::closed);
  gate.open();
}

TEST_CASE("a missing buffer is refused before NCCL gets a call") {
  const FakeRanks ranks("");
  const ThreeDevices devices(ranks);
  const auto nccl = devices.join().value();
  NcclArrays arrays = devices.arrays();
  const std::array<const std::byte*, 3> missing = {devices.from[0], nullptr, devices.from[2]};
  arrays.inputs = missing;
  CHECK(nccl->all_reduce(arrays, NcclOp::sum, FakeRanks::later()).error().code == Errc::input);
}

}  // namespace
}  // namespace dt
