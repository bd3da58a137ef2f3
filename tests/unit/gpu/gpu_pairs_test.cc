#include "gpu/gpu_pairs.h"

#include <doctest/doctest.h>

#include <cstdlib>

namespace dt {
namespace {

/// Lists the GPUs of `world` (tests/programs/fake_nvml.c).
GpuList list_world(const char* world) {
  setenv("FAKE_NVML", world, 1);
  GpuList list = list_gpus({.library = FAKE_NVML, .sysfs = "/no/such/folder"}).value();
  unsetenv("FAKE_NVML");
  return list;
}

TEST_CASE("each two GPUs are a pair, with its path and without an obstacle") {
  const GpuList list = list_world("gpu=A nvlink level=20 gpu=B nvlink level=10 gpu=C level=50");
  REQUIRE(list.gpus.size() == 3);
  const auto pair = [&](size_t first, size_t second, const char* path) {
    return GpuPair{list.gpus[first].uuid, list.gpus[second].uuid, path, ""};
  };
  CHECK(list.pairs == std::vector{pair(0, 1, "NVLink"), pair(0, 2, "SYS"), pair(1, 2, "SYS")});
}

TEST_CASE("the path of a pair has its name in nvidia-smi topo") {
  struct Case {
    const char* world;
    const char* path;
  };
  for (const Case& c :
       {Case{"gpu=A gpu=B", "PIX"}, Case{"gpu=A gpu=B level=10", "PIX"},
        Case{"gpu=A level=20 gpu=B level=10", "PXB"}, Case{"gpu=A gpu=B level=30", "PHB"},
        Case{"gpu=A gpu=B level=40", "NODE"}, Case{"gpu=A nvlink gpu=B level=50", "SYS"},
        Case{"gpu=A gpu=B level=77", ""}}) {
    CAPTURE(c.world);
    REQUIRE(list_world(c.world).pairs.size() == 1);
    CHECK(list_world(c.world).pairs[0].path == c.path);
  }
}

TEST_CASE("a pair whose kernels cannot use the other's memory has the reason, in either order") {
  struct Case {
    const char* world;
    const char* obstacle;
  };
  for (const Case& c : {Case{"gpu=A nop2p=1 gpu=B", "the chipset does not support it"},
                        Case{"gpu=A gpu=B nop2p=2", "one of the GPUs does not support it"},
                        Case{"gpu=A gpu=B nop2p=3", "they are behind different host bridges"},
                        Case{"gpu=A gpu=B nop2p=4", "a setting of NVIDIA's driver disables it"},
                        Case{"gpu=A gpu=B nop2p=5", "it is not supported"},
                        Case{"gpu=A gpu=B nop2p=6", "NVIDIA's driver has no reason"}}) {
    CAPTURE(c.world);
    CHECK(list_world(c.world).pairs.at(0).obstacle == c.obstacle);
  }
}

TEST_CASE("MIG instances have no pairs, and eight GPUs have 28") {
  CHECK(list_world("gpu=A mig=2 gpu=B").pairs.empty());
  CHECK(list_world("gpu=A gpu=A gpu=A gpu=A gpu=A gpu=A gpu=A gpu=A").pairs.size() == 28);
}

TEST_CASE("GPUs have their compute mode, and their NUMA node from NVML where sysfs has none") {
  const GpuList list =
      list_world("gpu=A mode=0 gpu=B mode=3 node=1 gpu=C mode=2 node=70 gpu=D mode=9");
  CHECK(list.gpus[0].compute_mode == "default");
  CHECK(list.gpus[1].compute_mode == "exclusive_process");
  CHECK(list.gpus[2].compute_mode == "prohibited");
  CHECK(list.gpus[3].compute_mode.empty());
  CHECK(list.gpus[0].numa_node == -1);
  CHECK(list.gpus[1].numa_node == 1);
  CHECK(list.gpus[2].numa_node == 70);
  CHECK(list_world("gpu=A mode=2 mig=1").gpus[0].compute_mode == "prohibited");
}

}  // namespace
}  // namespace dt
