#include "gpu/devices/devices_in_use.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const DevicesInUse first = {.host = "node1",
                            .uuids = {"GPU-a", "GPU-b"},
                            .nccl_version = 22809,
                            .nccl_path = "/usr/lib/libnccl.so.2",
                            .driver_version = 13000};

std::string conflict(const DevicesInUse& second) {
  return find_conflict({0, &first}, {3, &second}).value_or("none");
}
std::string doubt(const DevicesInUse& second) {
  return doubtful_difference({0, &first}, {3, &second});
}

TEST_CASE("two ranks with one GPU are a conflict, unless both may share it") {
  DevicesInUse second = first;
  second.host = "node1";
  second.uuids = {"GPU-c", "GPU-b"};
  CHECK(conflict(second) ==
        "rank 0 (node1) and rank 3 (node1) use one GPU, GPU-b: give each rank its own by "
        "--gpu-bind rank, start at most as many as there are GPUs, or test with --gpu-share");
  second.may_share = true;
  CHECK(conflict(second) != "none");
  DevicesInUse sharing = first;
  sharing.may_share = true;
  CHECK_FALSE(find_conflict({0, &sharing}, {3, &second}).has_value());
  second.may_share = false;
  second.uuids = {"GPU-c"};
  CHECK(conflict(second) == "none");
  second.uuids = {};
  CHECK(conflict(second) == "none");
}

TEST_CASE("two versions of NCCL are a conflict, with their hosts and files") {
  const DevicesInUse second = {
      .host = "node2", .nccl_version = 22705, .nccl_path = "/opt/nccl/libnccl.so.2"};
  CHECK(conflict(second) ==
        "rank 3 (node2) has NCCL 2.27.5 (/opt/nccl/libnccl.so.2), but rank 0 (node1) NCCL 2.28.9 "
        "(/usr/lib/libnccl.so.2); NCCL needs one version on all ranks, and DTRAIN_NCCL_LIB "
        "chooses its file");
  CHECK(conflict({}) == "none");
}

TEST_CASE("other files and other drivers are named, and are no conflict") {
  DevicesInUse second = {.host = "node2",
                         .nccl_version = 22809,
                         .nccl_path = "/opt/libnccl.so.2",
                         .driver_version = 12080};
  CHECK(conflict(second) == "none");
  CHECK(doubt(second) ==
        "rank 3 (node2) has NCCL 2.28.9 (/opt/libnccl.so.2), and rank 0 (node1) NCCL 2.28.9 "
        "(/usr/lib/libnccl.so.2)");
  second.nccl_path = first.nccl_path;
  CHECK(doubt(second) ==
        "the driver of rank 3 (node2) supports CUDA 12.8, and that of rank 0 (node1) CUDA 13.0");
  second.driver_version = first.driver_version;
  CHECK(doubt(second).empty());
  CHECK(doubt({}).empty());
}

TEST_CASE("an encoding has all devices and texts, up to their limits") {
  DevicesInUse devices = {.host = "node1",
                          .uuids = {"GPU-a", "GPU-b"},
                          .may_share = true,
                          .nccl_version = 22809,
                          .nccl_path = "/lib/libnccl.so.2",
                          .driver_version = 13000};
  const auto again = [](const DevicesInUse& given) {
    Writer writer;
    encode(given, writer);
    CHECK(writer.view().size() <= devices_in_use_bytes_max);
    Reader reader(writer.view());
    DevicesInUse decoded = decode_devices_in_use(reader);
    CHECK(reader.finish("devices").has_value());
    return decoded;
  };
  CHECK(again(devices) == devices);
  devices.host = devices.nccl_path = std::string(5000, 'h');
  devices.uuids = std::vector<std::string>(100, std::string(1000, 'u'));
  CHECK(again(devices).uuids.size() == 16);
  Reader empty({});
  decode_devices_in_use(empty);
  CHECK_FALSE(empty.ok());
}

}  // namespace
}  // namespace dt
