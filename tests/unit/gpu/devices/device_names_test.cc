#include "gpu/devices/device_names.h"

#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

TEST_CASE("devices are found by number, by name, and by TensorFlow's names, in the given order") {
  const DeviceList devices = open_cpu_devices({.count = 3}).value();
  using Places = std::vector<size_t>;
  CHECK(find_devices("0", devices).value() == Places{0});
  CHECK(find_devices("2,0", devices).value() == Places{2, 0});
  CHECK(find_devices("cpu:1, cpu:2", devices).value() == Places{1, 2});
  CHECK(find_devices("/cpu:1,/device:CPU:0,2", devices).value() == Places{1, 0, 2});
}

TEST_CASE("TensorFlow's names become those of devices here") {
  CHECK(plain_device_name("/gpu:1") == "cuda:1");
  CHECK(plain_device_name("/device:GPU:0") == "cuda:0");
  CHECK(plain_device_name("cuda:2") == "cuda:2");
  CHECK(plain_device_name("/CPU:3") == "cpu:3");
  CHECK(plain_device_name("3") == "3");
}

TEST_CASE("a device that does not exist is an error that lists those that do") {
  const DeviceList devices = open_cpu_devices({.count = 2}).value();
  for (const char* const name : {"2", "-1", "gpu:0", "cpu:2", "cpu", "", "cpu:0x1"}) {
    CAPTURE(name);
    const std::string message =
        "no device \"" + std::string(name) + "\"; this process has cpu:0, cpu:1";
    check_error(find_devices(name, devices), Errc::input, message.c_str());
  }
  check_error(find_devices("1,/cpu:1", devices), Errc::input, "device cpu:1 is named twice");
}

}  // namespace
}  // namespace dt
