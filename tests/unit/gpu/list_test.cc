#include "gpu/list.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dt {
namespace {

TEST_CASE("the UUID of a GPU has NVIDIA's form") {
  const char bytes[16] = {0x4a, 0x1b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, '\xff'};
  CHECK(gpu_uuid_text(bytes) == "GPU-4a1b0001-0203-0405-0607-08090a0b0cff");
}

/// An NVML that shows `world` (tests/programs/fake_nvml.c), and a folder instead of /sys.
struct FakeHost {
  explicit FakeHost(const char* world) {
    setenv("FAKE_NVML", world, 1);
    sources.sysfs = std::filesystem::temp_directory_path() / ("sysfs-" + std::to_string(getpid()));
    sources.library = FAKE_NVML;
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  ~FakeHost() {
    unsetenv("FAKE_NVML");
    std::filesystem::remove_all(sources.sysfs);
  }
  void put_on_node(const std::string& bus_id, int node) const {
    const std::string folder = sources.sysfs + "/bus/pci/devices/" + bus_id;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/numa_node") << node << "\n";
  }
  Result<GpuList> list() const { return list_gpus(sources); }
  GpuSources sources;
};

TEST_CASE("list_gpus has the facts of each GPU that a launcher and a user need") {
  const FakeHost host("gpu=H100 gpu=A100");
  host.put_on_node("0000:a2:00.0", 1);
  const GpuList list = host.list().value();
  CHECK(list.driver_version == "535.104.05");
  CHECK(list.cuda_version == "12.2");
  REQUIRE(list.gpus.size() == 2);
  CHECK(list.gpus[0] == Gpu{.index = 0,
                            .uuid = "GPU-000000a0-0000-4000-8000-000000000000",
                            .name = "H100",
                            .bus_id = "0000:a1:00.0",
                            .numa_node = -1,
                            .memory_bytes = uint64_t{80} << 30,
                            .memory_free_bytes = uint64_t{79} << 30,
                            .visible_as = "0",
                            .compute_mode = "default"});
  CHECK(list.gpus[1].name == "A100");
  CHECK(list.gpus[1].numa_node == 1);
  CHECK(list.gpus[1].visible_as == "1");
}

TEST_CASE("list_gpus: a GPU in MIG mode is its instances, which have no index of their own") {
  const FakeHost host("gpu=H100 mig=2 gpu=H100");
  host.put_on_node("0000:a1:00.0", 0);
  const std::vector<Gpu> gpus = host.list().value().gpus;
  REQUIRE(gpus.size() == 3);
  for (size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    CHECK(gpus[i].visible_as == "MIG-000000b0-0000-4000-8000-00000000000" + std::to_string(i));
    CHECK(gpus[i].visible_as == gpus[i].uuid);
    CHECK(gpus[i].parent == "GPU-000000a0-0000-4000-8000-000000000000");
    CHECK(gpus[i].numa_node == 0);
    CHECK(gpus[i].memory_bytes == uint64_t{10} << 30);
  }
  CHECK(gpus[2].visible_as == "1");
}

TEST_CASE("list_gpus leaves out what belongs to others, as CUDA does, and names what is broken") {
  const GpuList list = FakeHost("gpu=A denied gpu=B gpu=C lost gpu=D").list().value();
  REQUIRE(list.gpus.size() == 2);
  CHECK(list.gpus[0].name == "B");
  CHECK(list.gpus[0].index == 0);
  CHECK(list.gpus[1].name == "D");
  CHECK(list.gpus[1].index == 1);
  CHECK(list.warnings == std::vector<std::string>{"GPU 2 cannot be used: GPU is lost"});
}

TEST_CASE("list_gpus fails with the reason when there is no list") {
  struct Case {
    const char* world;
    const char* library;
    Errc code;
    const char* message;
  };
  const Case cases[] = {
      {"init=9", FAKE_NVML, Errc::os,
       "cannot list GPUs: NVML says \"Driver Not Loaded\"; load the kernel's part of NVIDIA's "
       "driver (modprobe nvidia), or give slots"},
      {"init=18", FAKE_NVML, Errc::os,
       "cannot list GPUs: NVML says \"Driver/library version mismatch\"; NVIDIA's driver was "
       "updated: reboot the host, or load its kernel modules anew"},
      {"init=4", FAKE_NVML, Errc::os,
       "cannot list GPUs: NVML says \"Insufficient Permissions\"; this user may not open "
       "/dev/nvidiactl"},
      {"init=999", FAKE_NVML, Errc::os,
       "cannot list GPUs: NVML says \"Unknown Error\"; see nvidia-smi"},
      {"", "libno-such-library.so.1", Errc::not_found,
       "cannot list GPUs: libno-such-library.so.1: cannot open shared object file: No such file "
       "or directory"},
      {"", OLD_NVML, Errc::mismatch,
       "cannot list GPUs: " OLD_NVML " has no nvmlInit_v2; NVIDIA's driver is too old"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    FakeHost host(c.world);
    host.sources.library = c.library;
    const auto list = host.list();
    REQUIRE_FALSE(list.has_value());
    CHECK(list.error().code == c.code);
    CHECK(list.error().message == c.message);
  }
}

TEST_CASE("list_gpus: a driver that manages no GPU has an empty list") {
  CHECK(FakeHost("").list().value().gpus.empty());
}

}  // namespace
}  // namespace dt
