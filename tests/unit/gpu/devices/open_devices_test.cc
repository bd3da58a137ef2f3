#include "gpu/devices/open_devices.h"

#include "gpu/cuda/cuda_build.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("without GPUs, open_devices fails with the reason") {
  if (std::filesystem::exists("/dev/nvidiactl")) return;
  const auto opened = open_devices({});
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().code == Errc::not_found);
  const char* const reason =
      cuda_build().toolkit.empty()
          ? "this build of dtrain has no CUDA"
          : "NVIDIA's driver is not installed here (no libcuda.so.1); in a container: docker run "
            "--gpus all";
  CHECK(opened.error().message ==
        std::string("no usable GPU: ") + reason +
            "; DTRAIN_CPU_DEVICES=N makes N devices of the CPU, for tests");
}

TEST_CASE("DTRAIN_CPU_DEVICES makes so many devices of the CPU") {
  for (const int count : {1, 4, 64}) {
    const DeviceList devices =
        open_devices({{"DTRAIN_CPU_DEVICES", std::to_string(count)}}).value();
    REQUIRE(devices.size() == static_cast<size_t>(count));
    CHECK(devices.back()->name() == "cpu:" + std::to_string(count - 1));
    CHECK(devices.front()->can_access(*devices.back()));
  }
}

TEST_CASE("open_devices_or_cpu makes one device of the CPU where there is no other") {
  const DeviceList devices = open_devices_or_cpu({}).value();
  REQUIRE(devices.size() == 1);
  CHECK(devices[0]->name() == "cpu:0");
  CHECK(devices[0]->memory().total_bytes > size_t{1} << 20);
  CHECK(devices[0]->host_can_access());
  CHECK(open_devices_or_cpu({{"DTRAIN_CPU_DEVICES", "3"}}).value().size() == 3);
  CHECK_FALSE(open_devices_or_cpu({{"DTRAIN_CPU_DEVICES", "x"}}));
}

TEST_CASE("open_only_cpus looks for no GPU") {
  CHECK(open_only_cpus({}).value().size() == 1);
  CHECK(open_only_cpus({{"DTRAIN_CPU_DEVICES", "3"}}).value().size() == 3);
  CHECK_FALSE(open_only_cpus({{"DTRAIN_CPU_DEVICES", "x"}}));
}

TEST_CASE("a wrong value of DTRAIN_CPU_DEVICES is an error that shows it") {
  for (const char* const value :
       {"", "0", "-1", "65", "4 ", "+4", "four", "4.0", "0x4", "99999999999999999999", "4,4"}) {
    CAPTURE(value);
    const std::string message =
        "DTRAIN_CPU_DEVICES: must be a number from 1 to 64, not '" + std::string(value) + "'";
    check_error(open_devices({{"DTRAIN_CPU_DEVICES", value}}), Errc::input, message.c_str());
  }
}

}  // namespace
}  // namespace dt
