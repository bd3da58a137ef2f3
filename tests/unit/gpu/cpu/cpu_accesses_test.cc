#include "gpu/cpu/cpu_accesses.h"

#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

/// Two devices without peer access, each with memory, and pinned memory.
struct Places {
  CpuWorld world{{.count = 2, .peer_access = false}};
  CpuMemory::Allocation mine = world.memory().allocate({.device = 0, .bytes = 16}).value();
  CpuMemory::Allocation of_peer = world.memory().allocate({.device = 1, .bytes = 16}).value();
  CpuMemory::Allocation pinned =
      world.memory().allocate({.device = 1, .pinned = true, .bytes = 16}).value();
  std::byte pageable[16] = {};
};

TEST_CASE("a copy uses any memory") {
  Places places;
  CpuAccesses accesses(places.world, 0);
  for (const std::byte* at : {places.mine->at() + 8, places.of_peer->at() + 8,
                              places.pinned->at() + 8, +places.pageable + 8})
    CHECK(accesses.add_copied({at, 8, "the source"}).has_value());
  CHECK(accesses.still_valid().has_value());
}

TEST_CASE("a kernel uses its device's and pinned memory, and of peers only with peer access") {
  Places places;
  CpuAccesses accesses(places.world, 0);
  CHECK(accesses.add_for_kernel({places.mine->at(), 16, "the source"}).has_value());
  CHECK(accesses.add_for_kernel({places.pinned->at(), 16, "the source"}).has_value());
  check_error(accesses.add_for_kernel({places.of_peer->at(), 16, "source 3"}), Errc::input,
              "source 3 lies in memory of cpu:1, which cpu:0 cannot access");
  check_error(accesses.add_for_kernel({places.pageable, 16, "the result"}), Errc::input,
              "the result lies in pageable memory of the host, which cpu:0 cannot access");
  CpuWorld peers({.count = 2});
  const auto of_peer = peers.memory().allocate({.device = 1, .bytes = 16}).value();
  CHECK(CpuAccesses(peers, 0).add_for_kernel({of_peer->at(), 16, "the source"}).has_value());
  const auto pooled = peers.memory().allocate({.device = 1, .pooled = true, .bytes = 16}).value();
  CHECK(CpuAccesses(peers, 1).add_for_kernel({pooled->at(), 16, "the source"}).has_value());
  check_error(CpuAccesses(peers, 0).add_for_kernel({pooled->at(), 16, "the source"}), Errc::input,
              "the source lies in a pool of cpu:1, which cpu:0 cannot access");
}

TEST_CASE("ranges beyond a buffer, in freed memory and at null are refused by name") {
  Places places;
  CpuAccesses accesses(places.world, 0);
  for (const bool kernel : {false, true}) {
    const auto add = [&](const AccessedRange& range) {
      return kernel ? accesses.add_for_kernel(range) : accesses.add_copied(range);
    };
    check_error(add({places.mine->at() + 8, 9, "the source"}), Errc::input,
                "the source has 9 bytes, which reach beyond a buffer of 16 bytes");
    check_error(add({places.mine->at() - 4, 4, "the source"}), Errc::input,
                "the source has 4 bytes, which reach beyond a buffer of 16 bytes");
    CHECK(add({nullptr, 0, "the source"}).has_value());
    CHECK_FALSE(add({nullptr, 1, "the source"}).has_value());
  }
  check_error(accesses.add_copied({nullptr, 1, "the source"}), Errc::input, "the source is null");
  places.world.memory().free(places.mine);
  check_error(accesses.add_copied({places.mine->at(), 8, "the source"}), Errc::input,
              "the source was freed");
}

TEST_CASE("memory that is freed after the call was made is found when it runs") {
  Places places;
  CpuAccesses accesses(places.world, 0);
  CHECK(accesses.add_copied({places.mine->at(), 8, "the source"}).has_value());
  places.world.memory().free(places.mine);
  check_error(accesses.still_valid(), Errc::os,
              "a buffer of 16 bytes was freed before the call ran");
}

}  // namespace
}  // namespace dt
