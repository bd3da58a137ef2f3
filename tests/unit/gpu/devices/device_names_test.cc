#include "gpu/devices/device_names.h"

#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

TEST_CASE("devices are found by number, by name, and by TensorFlow's names, in the given order") {
  const DeviceList devices = open_cpu_devices({.count = 3}).value();
  using Places = std::vector<size_t>;
  CHECK(find_devices("0", devices).value().places == Places{0});
  CHECK(find_devices("2,0", devices).value().places == Places{2, 0});
  CHECK(find_devices("cpu:1, cpu:2", devices).value().places == Places{1, 2});
  CHECK(find_devices("/job:worker/task:0/cpu:2,/job:worker/replica:0/task:0/device:CPU:1", devices)
            .value()
            .places == Places{2, 1});
  CHECK(find_devices("/cpu:1,/device:CPU:0,2", devices).value().places == Places{1, 0, 2});
}

TEST_CASE("TensorFlow's names become those of devices here") {
  CHECK(plain_device_name("/gpu:1") == "cuda:1");
  CHECK(plain_device_name("/device:GPU:0") == "cuda:0");
  CHECK(plain_device_name("cuda:2") == "cuda:2");
  CHECK(plain_device_name("/CPU:3") == "cpu:3");
  CHECK(plain_device_name("3") == "3");
  CHECK(plain_device_name("/job:worker/replica:0/task:7/device:GPU:1") == "cuda:1");
  CHECK(plain_device_name("/job:worker/task:0/cpu:0") == "cpu:0");
  CHECK(plain_device_name("/job:worker") == "");
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

TEST_CASE("names of devices of the CPU are known before devices are opened") {
  const DeviceOwner second = {.job = "worker", .task = 1};
  for (const char* const cpus :
       {"cpu", "CPU", "cpu:0", "/device:CPU:1, cpu:0", "/job:worker/task:0/gpu:0,/task:1/cpu:0"}) {
    CAPTURE(cpus);
    CHECK(names_only_cpus(cpus, second));
  }
  for (const char* const others :
       {"", "0", "gpu:0", "cpu:0,1", "cpus", "/job:worker/task:0/cpu:0"}) {
    CAPTURE(others);
    CHECK_FALSE(names_only_cpus(others, second));
  }
}

TEST_CASE("a name may say whose device it is") {
  const DeviceOwner second = {.job = "worker", .task = 1};
  for (const char* const ours :
       {"cpu:0", "/cpu:0", "0", "/job:worker/cpu:0", "/job:worker/task:1/cpu:0", "/task:1/cpu:0",
        "/job:worker/replica:0/task:1/device:CPU:0", "/job:localhost/task:0/cpu:0"}) {
    CAPTURE(ours);
    CHECK(is_device_of(ours, second));
  }
  for (const char* const theirs : {"/job:worker/task:0/cpu:0", "/job:ps/task:1/cpu:0",
                                   "/job:chief/cpu:0", "/job:worker/replica:1/task:1/cpu:0"}) {
    CAPTURE(theirs);
    CHECK_FALSE(is_device_of(theirs, second));
  }
}

TEST_CASE("each process takes its own devices of one list for all") {
  const DeviceList devices = open_cpu_devices({.count = 2}).value();
  constexpr const char* all = "/job:worker/task:0/cpu:0,/job:worker/task:1/cpu:1";
  using Places = std::vector<size_t>;
  CHECK(find_devices(all, devices, {.self = {"worker", 0}}).value().places == Places{0});
  CHECK(find_devices(all, devices, {.self = {"worker", 1}}).value().places == Places{1});
  check_error(find_devices(all, devices, {.self = {"worker", 2}}), Errc::input,
              "\"/job:worker/task:0/cpu:0,/job:worker/task:1/cpu:1\" names no device of "
              "/job:worker/task:2, which has cpu:0, cpu:1");
}

TEST_CASE("with soft placement, the CPU takes the place of a device that does not exist") {
  const DeviceList devices = open_cpu_devices({.count = 2}).value();
  const auto found = find_devices("/gpu:0,/gpu:1", devices, {.soft = true}).value();
  CHECK(found.places == std::vector<size_t>{0, 1});
  CHECK(found.fallbacks ==
        std::vector<std::string>{"/gpu:0 does not exist here: cpu:0 takes its place",
                                 "/gpu:1 does not exist here: cpu:1 takes its place"});
  CHECK(find_devices("cpu:1", devices, {.soft = true}).value().fallbacks.empty());
  check_error(
      find_devices("0,1,/gpu:1", devices, {.soft = true}), Errc::input,
      "no device \"/gpu:1\", and no device of the CPU is left to take its place; this process "
      "has cpu:0, cpu:1");
  check_error(find_devices("x", devices, {.soft = true}), Errc::input,
              "no device \"x\"; this process has cpu:0, cpu:1");
}

}  // namespace
}  // namespace dt
