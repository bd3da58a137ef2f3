#include "comm/device/peer_link.h"

#include "tests/unit/comm/device/test_store.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dt {
namespace {

/// Ranks with a device of the CPU each, in worlds of their own as in processes.
struct LinkedRanks {
  explicit LinkedRanks(size_t count, const std::function<CpuDeviceOptions(size_t)>& options) {
    for (size_t rank = 0; rank < count; ++rank) {
      worlds.push_back(std::make_unique<CpuDevices>(options(rank)));
      free.push_back(worlds[rank]->device(0).allocate(size_t{1} << 18).value());
    }
  }
  PeerLink::Terms terms(size_t rank) {
    DeviceStream& stream = worlds[rank]->stream(0);
    return {
        .self = {.rank = static_cast<int>(rank), .size = static_cast<int>(worlds.size())},
        .stream = &stream,
        .free = &free[rank],
        .store = store.use(),
        .bytes_max = size_t{1} << 16,
        .finish = [&stream](const auto& watch) { return watched_end(stream, much_later(), watch); },
        .nccl = [this](const NcclCall&) -> Result<> {
          ++nccl_calls;
          return {};
        },
        .abandon =
            [this](const Error& why) {
              const std::lock_guard lock(mutex);
              abandoned += why.message;
            },
        .log = [this](std::string_view line) { warnings += line; }};
  }
  /// Connects all ranks, each on a thread.
  std::vector<Result<std::unique_ptr<PeerLink>>> connect(
      const std::function<void(PeerLink::Terms&, size_t)>& change = {}) {
    std::vector<Result<std::unique_ptr<PeerLink>>> links(worlds.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < worlds.size(); ++rank) {
      threads.emplace_back([&, rank] {
        PeerLink::Terms own = terms(rank);
        if (change) change(own, rank);
        links[rank] = PeerLink::connect(std::move(own));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    return links;
  }

  /// Bytes of a rank's device that are not free.
  size_t used(size_t rank) const {
    const DeviceMemory memory = worlds[rank]->device(0).memory();
    return memory.total_bytes - memory.free_bytes;
  }

  std::vector<std::unique_ptr<CpuDevices>> worlds = {};
  std::vector<DeviceBuffer> free = {};
  TestStore store;
  std::atomic<int> nccl_calls = 0;
  std::string warnings = {};  ///< of rank 0
  std::mutex mutex;
  std::string abandoned = {};  ///< why; of all ranks
};

constexpr PeerMeeting meetings[] = {PeerMeeting::kernels, PeerMeeting::streams};

CpuDeviceOptions plain(size_t) {
  return {.count = 1};
}

void check_none(const std::vector<Result<std::unique_ptr<PeerLink>>>& links) {
  for (const auto& link : links) {
    REQUIRE(link.has_value());
    CHECK(*link == nullptr);
  }
}

/// Returns the bytes of the largest sum of floats that it executes.
size_t limit_of(const PeerLink& link) {
  size_t bytes = 0;
  for (size_t more = 1024; more <= size_t{16} << 20; more *= 2)
    if (link.runs({.count = more / sizeof(float)})) bytes = more;
  return bytes;
}

void check_linked_sums(PeerMeeting meeting) {
  LinkedRanks ranks(3, plain);
  const auto links =
      ranks.connect([meeting](PeerLink::Terms& terms, size_t) { terms.meeting = meeting; });
  std::vector<DeviceBuffer> buffers;
  for (size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(links[rank].has_value());
    PeerLink& link = **links[rank];
    buffers.push_back(on_device(ranks.worlds[rank]->stream(0), std::vector<double>{1.5, 2}));
    NcclCall call = {.type = NcclType::float64,
                     .count = 2,
                     .from = buffers[rank].at(),
                     .to = buffers[rank].at()};
    CHECK(link.runs(call));
    REQUIRE(link.begin(call).has_value());
    call.count = (size_t{1} << 16) / 8;
    CHECK(link.runs(call));
    ++call.count;
    CHECK_FALSE(link.runs(call));
    CHECK_FALSE(link.runs({.op = NcclOp::max, .count = 1}));
    CHECK_FALSE(link.runs({.kind = NcclCall::Kind::reduce, .count = 1}));
    CHECK_FALSE(link.runs({.type = NcclType::int8, .count = 1}));
    CHECK_FALSE(link.runs({.type = NcclType::float8_e4m3, .count = 1}));
  }
  for (size_t rank = 0; rank < 3; ++rank)
    CHECK(values_of<double>(ranks.worlds[rank]->stream(0), buffers[rank], 2) ==
          std::vector<double>{4.5, 6});
  CHECK(ranks.nccl_calls == 0);
  CHECK(ranks.warnings.empty());
}

TEST_CASE("linked ranks run sums of up to the limit, and leave the rest to NCCL") {
  check_linked_sums(PeerMeeting::kernels);
}

TEST_CASE("ranks that share a device run the same sums") {
  check_linked_sums(PeerMeeting::streams);
}

/// The number of mappings of shared memory, which are own memory of ranks and memory of others.
size_t count_mappings() {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("dtrain device") != std::string::npos) ++count;
  return count;
}

TEST_CASE("a rank closes the others' memory, and frees its own when all have") {
  LinkedRanks ranks(2, plain);
  const size_t used_before = ranks.used(1);
  const size_t mappings = count_mappings();
  auto links = ranks.connect();
  const size_t used = ranks.used(1);
  CHECK(used > used_before);
  CHECK(count_mappings() == mappings + 4);
  (*links[0])->close();
  CHECK(count_mappings() == mappings + 3);
  (*links[1])->close();
  CHECK(count_mappings() == mappings + 2);
  CHECK(ranks.used(1) == used);
  (*links[1])->note_all_closed();
  for (auto& link : links)
    link->reset();
  CHECK(ranks.used(1) == used_before);
  // It has no notice of the other one.
  CHECK(ranks.used(0) == used);
}

TEST_CASE("the least limit of all users holds, and without one all ranks compare with NCCL") {
  LinkedRanks ranks(2, plain);
  for (const auto& link : ranks.connect([](PeerLink::Terms& terms, size_t rank) {
         if (rank == 0) terms.bytes_max.reset();
       }))
    CHECK(limit_of(**link) == size_t{1} << 16);
  CHECK(ranks.nccl_calls == 0);
  LinkedRanks free(2, plain);
  const auto links = free.connect([](PeerLink::Terms& terms, size_t) { terms.bytes_max.reset(); });
  CHECK(limit_of(**links[0]) == limit_of(**links[1]));
  // Three sizes fit into the free memory: four calls of each by each rank.
  CHECK(free.nccl_calls == 3 * 4 * 2);
}

TEST_CASE("a rank without memory is named, and NCCL sums") {
  LinkedRanks ranks(2, [](size_t rank) {
    return CpuDeviceOptions{.count = 1,
                            .memory_bytes = rank == 1 ? size_t{300'000} : size_t{1} << 30};
  });
  check_none(ranks.connect());
  CHECK_MESSAGE(ranks.warnings.starts_with("dtrain: warning: rank 1 cannot sum with the other GPUs "
                                           "of this host, so NCCL does: cpu:0: cannot allocate "),
                ranks.warnings);
  CHECK_MESSAGE(ranks.warnings.ends_with(": 37856 of 300000 bytes are free\n"), ranks.warnings);
}

TEST_CASE("less memory than wanted means smaller sums, of which rank 0 warns") {
  LinkedRanks ranks(2, [](size_t rank) {
    return CpuDeviceOptions{.count = 1,
                            .memory_bytes = rank == 1 ? size_t{1} << 20 : size_t{1} << 30};
  });
  for (const auto& link :
       ranks.connect([](PeerLink::Terms& terms, size_t) { terms.bytes_max = size_t{1} << 20; }))
    CHECK(limit_of(**link) == size_t{1} << 17);
  CHECK(ranks.warnings ==
        "dtrain: warning: a GPU has little memory left, so kernels of ours sum at most 128 KiB\n");
}

TEST_CASE("a wrong sum shows that the ranks do not reach each other") {
  LinkedRanks* changed = nullptr;
  std::atomic<bool> once = true;
  LinkedRanks ranks(2, [&](size_t rank) {
    return CpuDeviceOptions{
        .count = 1, .probe = [&, rank](const ProbedCall& call) -> Result<> {
          if (rank == 1 && call.runs && call.call == DeviceCall::sum_peers && once.exchange(false))
            std::memset(changed->free[1].at(), 0, 12);
          return {};
        }};
  });
  changed = &ranks;
  check_none(ranks.connect());
  // Each has freed its memory, when the other one had closed it.
  for (size_t rank = 0; rank < 2; ++rank)
    CHECK(ranks.used(rank) == ranks.free[rank].bytes());
  CHECK(ranks.warnings ==
        "dtrain: warning: rank 0 cannot sum with the other GPUs of this host, so NCCL does: a sum "
        "of known numbers is 0, not 1\n");
}

TEST_CASE("a device that fails in the first sum is waited for a short time only") {
  for (const PeerMeeting meeting : meetings) {
    LinkedRanks ranks(2, [](size_t rank) {
      return CpuDeviceOptions{.count = 1, .probe = [rank](const ProbedCall& call) -> Result<> {
                                if (rank == 1 && call.runs && call.call == DeviceCall::sum_peers)
                                  return fail(Errc::os, "injected");
                                return {};
                              }};
    });
    check_none(ranks.connect([meeting](PeerLink::Terms& terms, size_t) {
      terms.meeting = meeting;
      terms.patience = milliseconds(10);
    }));
    CHECK(ranks.warnings ==
          "dtrain: warning: rank 1 cannot sum with the other GPUs of this host, so NCCL does: "
          "cpu:0 has failed and stays unusable: sum_peers: injected\n");
  }
}

TEST_CASE("a sum that is queued in part does not keep the stream") {
  std::atomic<bool> once = true;
  LinkedRanks ranks(2, [&once](size_t rank) {
    return CpuDeviceOptions{
        .count = 1,
        .probe = [&once, rank, waits = false](const ProbedCall& call) mutable -> Result<> {
          if (rank == 1 || call.runs) return {};
          waits = waits || call.call == DeviceCall::wait_value;
          if (waits && call.call == DeviceCall::write_value && once.exchange(false))
            return fail(Errc::os, "injected");
          return {};
        }};
  });
  check_none(ranks.connect([](PeerLink::Terms& terms, size_t) {
    terms.meeting = PeerMeeting::streams;
    terms.patience = milliseconds(10);
  }));
  CHECK_MESSAGE(ranks.warnings.find("injected") != std::string::npos, ranks.warnings);
  for (const auto& world : ranks.worlds)
    CHECK(world->stream(0).done().value());
}

TEST_CASE("a driver whose streams cannot wait means NCCL, and rank 0 says so") {
  LinkedRanks ranks(2, [](size_t) {
    return CpuDeviceOptions{.count = 1, .probe = [](const ProbedCall& call) -> Result<> {
                              if (!call.runs && call.call == DeviceCall::write_value)
                                return fail(Errc::unsupported, "the driver has none");
                              return {};
                            }};
  });
  check_none(
      ranks.connect([](PeerLink::Terms& terms, size_t) { terms.meeting = PeerMeeting::streams; }));
  CHECK(ranks.warnings ==
        "dtrain: warning: rank 0 cannot sum with the other GPUs of this host, so NCCL does: "
        "cpu:0: write_value: the driver has none\n");
}

TEST_CASE("a rank that is late while both ways are measured means NCCL for all") {
  for (const PeerMeeting meeting : meetings) {
    LinkedRanks ranks(2, plain);
    check_none(ranks.connect([&](PeerLink::Terms& terms, size_t rank) {
      terms.meeting = meeting;
      terms.bytes_max.reset();
      terms.patience = milliseconds(10);
      if (rank == 1) {
        // Until rank 0 has measured all without it.
        const auto wait = terms.store.wait;
        terms.nccl = [wait](const NcclCall&) -> Result<> {
          TRY(wait("peers/measure/0", Duration::zero()));
          return {};
        };
      }
    }));
    CHECK_MESSAGE(ranks.warnings.find("the same sum in time") != std::string::npos, ranks.warnings);
  }
}

TEST_CASE("the end of the job ends the connection") {
  LinkedRanks ranks(2, plain);
  Result<std::unique_ptr<PeerLink>> link;
  std::thread rank([&] { link = PeerLink::connect(ranks.terms(0)); });
  ranks.store.close();
  rank.join();
  REQUIRE_FALSE(link.has_value());
  CHECK(link.error() == Error{Errc::peer_lost, "rank 7 died"});
}

TEST_CASE("a stop while ranks try to sum leaves no kernel behind") {
  for (const PeerMeeting meeting : meetings) {
    LinkedRanks ranks(2, plain);
    const auto links = ranks.connect([&](PeerLink::Terms& terms, size_t rank) {
      terms.meeting = meeting;
      // Rank 1 never begins its sum, and rank 0 learns that the job has ended.
      const auto wait = terms.store.wait;
      if (rank == 1) {
        terms.store.wait = [wait](const std::string& key, Duration limit) -> Result<Bytes> {
          if (key.starts_with("peers/open")) return fail(Errc::closed, "finalized");
          return wait(key, limit);
        };
      } else {
        terms.finish = [](const auto&) { return Result<>(fail(Errc::closed, "finalized")); };
        // The copies before the sum wait for nobody.
        terms.store.wait = [wait](const std::string& key, Duration limit) -> Result<Bytes> {
          if (key.starts_with("peers/sum")) return fail(Errc::closed, "finalized");
          return wait(key, limit);
        };
      }
    });
    CHECK(links[1].error().code == Errc::closed);
    CHECK_FALSE(links[0].has_value());
    CHECK(ranks.abandoned == "finalized");
    // None knows whether the other one still has its memory.
    for (size_t rank = 0; rank < 2; ++rank)
      CHECK(ranks.used(rank) > ranks.free[rank].bytes());
  }
}

TEST_CASE("the variable is a size") {
  const auto of = [](const char* value) { return peer_bytes_max({{"DTRAIN_PEER_MAX", value}}); };
  CHECK(peer_bytes_max({}).value() == std::nullopt);
  CHECK(of("").value() == std::nullopt);
  CHECK(of("0").value() == size_t{0});
  CHECK(of("256K").value() == size_t{1} << 18);
  for (const char* const wrong : {"all", "2G", "-1"}) {
    check_error(of(wrong), Errc::input,
                (std::string("DTRAIN_PEER_MAX is '") + wrong +
                 "'; it can be a size from 0 to 1G, such as 256K")
                    .c_str());
  }
}

TEST_CASE("a place is that of all processes here") {
  CHECK(peer_place() == peer_place());
  CHECK(peer_place().find("pid:[") != std::string::npos);
}

}  // namespace
}  // namespace dt
