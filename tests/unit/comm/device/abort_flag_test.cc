#include "comm/device/abort_flag.h"

#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

TEST_CASE("a flag keeps kernels from copying when it is set") {
  const CpuDevices cpu({});
  DeviceStream& stream = cpu.stream(0);
  AbortFlag flag = AbortFlag::allocate(cpu.device(0)).value();
  const DeviceBuffer from = on_device(stream, std::vector<float>{1, 2});
  const DeviceBuffer to = on_device(stream, std::vector<float>{0, 0});
  const auto copy = [&](size_t element) {
    const size_t at = element * sizeof(float);
    CHECK(stream.copy_pieces({.from = CopyFormat::float32,
                              .to = CopyFormat::float32,
                              .pieces = {{from.at() + at, to.at() + at, 1}},
                              .skip = flag.at()}));
    CHECK(stream.synchronize(much_later()));
  };
  copy(0);
  flag.set();
  copy(1);
  CHECK(values_of<float>(stream, to, 2) == std::vector<float>{1, 0});
}

TEST_CASE("a flag without memory is none") {
  AbortFlag flag;
  flag.set();
  CHECK(flag.at() == nullptr);
}

TEST_CASE("a flag needs pinned memory") {
  const CpuDevices cpu({.probe = [](const ProbedCall& call) -> Result<> {
    if (call.call != DeviceCall::allocate) return {};
    return fail(Errc::out_of_memory, "no memory is left");
  }});
  CHECK(AbortFlag::allocate(cpu.device(0)).error().code == Errc::out_of_memory);
}

}  // namespace
}  // namespace dt
