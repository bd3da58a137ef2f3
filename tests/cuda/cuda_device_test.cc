#include "gpu/cuda/cuda_device.h"

#include "gpu/cuda/cuda_event.h"
#include "gpu/cuda/cuda_state.h"
#include "gpu/cuda/cuda_stream.h"
#include "gpu/cuda/open_cuda.h"
#include "gpu/peers/peer_memory.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <array>
#include <numeric>

namespace dt {
namespace {

// Numbers of CUDA's statuses.
constexpr int memory_allocation = 2;
constexpr int invalid_value = 1;
constexpr int insufficient_driver = 35;
constexpr int illegal_address = 700;
constexpr int peer_access_already_enabled = 704;

/// GPUs of a new world with a stream each.
struct CudaDevices {
  explicit CudaDevices(const FakeCuda& world = {}) {
    new_fake_cuda() = world;
    devices = open_cuda_devices().value();
    for (const auto& device : devices)
      streams.push_back(device->make_stream().value());
  }
  DeviceList devices;
  std::vector<std::unique_ptr<DeviceStream>> streams;
};

TEST_CASE("open_cuda_devices opens all GPUs of the process") {
  const CudaDevices cuda;
  REQUIRE(cuda.devices.size() == 2);
  CHECK(cuda.devices[1]->name() == "cuda:1");
  CHECK(cuda.devices[1]->index() == 1);
  CHECK(cuda.devices[0]->can_access(*cuda.devices[0]));
  CHECK(cuda.devices[0]->can_access(*cuda.devices[1]));
  CHECK(cuda.devices[0]->memory() == DeviceMemory{1 << 20, 1 << 20});
  CHECK(cuda.devices[0]->status().has_value());
}

TEST_CASE("devices have UUIDs and models, and streams handles that NCCL knows") {
  const CudaDevices cuda;
  CHECK(cuda.devices[0]->uuid() == "GPU-00000000-0000-0000-0000-000000000001");
  CHECK(cuda.devices[1]->uuid() == "GPU-00000000-0000-0000-0000-000000000002");
  CHECK(cuda.devices[0]->model() == "Fake GPU");
  CHECK(cuda.streams[0]->native() != nullptr);
  CHECK(cuda.streams[0]->native() != cuda.streams[1]->native());
  CHECK(cuda_driver_version() == 13000);
  fake_cuda().failures["cudaGetDeviceProperties"] = invalid_value;
  CHECK(cuda.devices[0]->uuid().empty());
  CHECK(cuda.devices[0]->model().empty());
}

TEST_CASE("a stream of the program runs calls, and the program destroys it") {
  const CudaDevices cuda;
  void* const handle = cuda.streams[1]->native();
  check_error(cuda.devices[0]->stream_at(handle), Errc::input,
              "the stream belongs to cuda:1, not to cuda:0");
  std::vector<int> values = {1, 2, 3};
  const DeviceBuffer buffer = cuda.devices[1]->allocate(sizeof(int) * 3).value();
  bool ran = false;
  {
    const auto stream = cuda.devices[1]->stream_at(handle).value();
    CHECK(stream->native() == handle);
    REQUIRE(stream->copy({buffer.at(), bytes_at(values), sizeof(int) * 3}).has_value());
    REQUIRE(stream->run_on_host([&] { ran = true; }).has_value());
  }
  CHECK(fake_cuda().live_streams == 2);
  CHECK(values_of<int>(*cuda.streams[1], buffer, 3) == values);
  CHECK(ran);
  int no_stream = 0;
  CHECK_FALSE(cuda.devices[0]->stream_at(&no_stream).has_value());
  fake_cuda().captures = true;
  check_error(cuda.devices[1]->stream_at(handle), Errc::input,
              "the stream is being captured into a graph");
}

TEST_CASE("one GPU is opened by its number") {
  const CudaDevices cuda;
  const auto one = open_cuda_device(1).value();
  CHECK(one->name() == "cuda:1");
  CHECK(one->can_access(*cuda.devices[1]));
  check_error(open_cuda_device(2), Errc::input, "there is no cuda:2; this process has 2");
}

TEST_CASE("without access to peers only a device itself can use its memory") {
  FakeCuda world;
  world.peer_access = false;
  const CudaDevices cuda(world);
  CHECK(cuda.devices[0]->can_access(*cuda.devices[0]));
  CHECK_FALSE(cuda.devices[0]->can_access(*cuda.devices[1]));
  const DeviceList others = open_cpu_devices({}).value();
  CHECK_FALSE(cuda.devices[0]->can_access(*others[0]));
}

TEST_CASE("access that the program has enabled already is access") {
  FakeCuda world;
  world.failures["cudaDeviceEnablePeerAccess"] = peer_access_already_enabled;
  CHECK(CudaDevices(world).devices[0]->can_access(*CudaDevices(world).devices[1]));
  world.failures["cudaDeviceEnablePeerAccess"] = invalid_value;
  const CudaDevices cuda(world);
  CHECK_FALSE(cuda.devices[0]->can_access(*cuda.devices[1]));
}

TEST_CASE("open_cuda_devices fails with the reason where no GPU is usable") {
  FakeCuda& world = new_fake_cuda();
  world.failures["cudaGetDeviceCount"] = insufficient_driver;
  world.driver_version = 12040;
  check_error(open_cuda_devices(), Errc::not_found,
              "no usable GPU: NVIDIA's driver supports CUDA 12.4, and this build needs 13.0; "
              "install a newer driver");
  new_fake_cuda().device_count = 0;
  check_error(open_cuda_devices(), Errc::not_found,
              "no usable GPU: NVIDIA's driver has none for this process; see "
              "CUDA_VISIBLE_DEVICES and nvidia-smi");
  new_fake_cuda().failures["cudaGetDeviceCount"] = invalid_value;
  check_error(open_cuda_devices(), Errc::not_found, "no usable GPU: invalid argument");
}

TEST_CASE("memory has a place, is counted, and is freed with its buffer") {
  const CudaDevices cuda;
  Device& device = *cuda.devices[1];
  {
    const DeviceBuffer buffer = device.allocate(1000).value();
    CHECK(reinterpret_cast<uintptr_t>(buffer.at()) % 256 == 0);
    CHECK(buffer.bytes() == 1000);
    CHECK(device.place_of(buffer.at() + 999) ==
          MemoryPlace{.kind = MemoryPlace::Kind::device, .device = 1});
    CHECK(device.memory().free_bytes == (1 << 20) - 1000);
    const DeviceBuffer pinned = device.allocate_pinned(10).value();
    CHECK(device.place_of(pinned.at()) == MemoryPlace{.kind = MemoryPlace::Kind::pinned});
    CHECK(fake_cuda().live_allocations == 2);
  }
  CHECK(fake_cuda().live_allocations == 0);
  std::byte mine = {};
  CHECK(device.place_of(&mine) == MemoryPlace{});
  CHECK(device.allocate(0).value().at() == nullptr);
}

TEST_CASE(
    "kernels of other devices cannot use memory of pools, nor what the driver does not know") {
  const CudaDevices cuda;
  const DeviceBuffer buffer = cuda.devices[1]->allocate(8).value();
  const auto access = [&] { return cuda.devices[1]->place_of(buffer.at()).access; };
  CHECK(access() == KernelAccess::peers);
  fake_cuda().pooled = {buffer.at()};
  CHECK(access() == KernelAccess::own_device);
  fake_cuda().pooled.clear();
  fake_cuda().failures["cuPointerGetAttribute"] = invalid_value;
  CHECK(access() == KernelAccess::own_device);
}

TEST_CASE("too little memory is an error, after which the device works on") {
  const CudaDevices cuda;
  check_error(cuda.devices[0]->allocate(2 << 20), Errc::out_of_memory,
              "cuda:0: allocate: out of memory (cudaErrorMemoryAllocation)");
  CHECK(cuda.devices[0]->allocate(1 << 20).has_value());
  fake_cuda().failures["cudaHostAlloc"] = memory_allocation;
  CHECK(cuda.devices[0]->allocate_pinned(1).error().code == Errc::out_of_memory);
}

TEST_CASE("streams and events are destroyed with their objects") {
  {
    const CudaDevices cuda;
    const auto event = cuda.devices[0]->make_event().value();
    CHECK(fake_cuda().live_streams == 2);
    CHECK(fake_cuda().live_events == 1);
  }
  CHECK(fake_cuda().live_streams == 0);
  CHECK(fake_cuda().live_events == 0);
}

TEST_CASE("copies, fills and functions of the host run in the order of the calls") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[0];
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 1);
  std::vector<int> result(100);
  std::vector<int> order;
  const DeviceBuffer buffer = cuda.devices[0]->allocate(400).value();
  CHECK(stream.fill(buffer.at(), std::byte{7}, 400).has_value());
  CHECK(stream.run_on_host([&] { order.push_back(1); }).has_value());
  CHECK(stream.copy({buffer.at(), bytes_at(values), 400}).has_value());
  CHECK(stream.run_on_host([&] { order.push_back(2); }).has_value());
  CHECK(stream.copy({bytes_at(result), buffer.at(), 400}).has_value());
  CHECK(order.empty());
  CHECK(stream.synchronize(much_later()).has_value());
  CHECK(result == values);
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("a reduction is one launch, of no more threads than elements need") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[0];
  for (const size_t count : {1, 500, 100000}) {
    CAPTURE(count);
    fake_cuda().launches.clear();
    const DeviceBuffer a = on_device(stream, std::vector<float>(count, 1.5F));
    const DeviceBuffer b = on_device(stream, std::vector<float>(count, 2));
    CHECK(stream
              .reduce({.type = ElementType::float32,
                       .op = ReduceOp::average,
                       .count = count,
                       .sources = {a.at(), b.at()},
                       .into = a.at(),
                       .divisor = 2})
              .has_value());
    CHECK(values_of<float>(stream, a, count) == std::vector<float>(count, 1.75F));
    REQUIRE(fake_cuda().launches.size() == 1);
    const FakeLaunch launch = fake_cuda().launches[0];
    CHECK(launch.threads == 256);
    CHECK(launch.blocks <= 2 * 4);
    CHECK(launch.blocks <= 1 + count / 1024);
  }
}

TEST_CASE("a launch has as many blocks as run at once, which a device is asked once a kernel") {
  FakeCuda world;
  world.memory_bytes = size_t{8} << 20;
  const CudaDevices cuda(world);
  constexpr size_t count = 200'000;
  const auto blocks_of_sum = [](DeviceStream& stream, ElementType type) {
    const DeviceBuffer a = on_device(stream, std::vector<uint32_t>(count, 0));
    fake_cuda().launches.clear();
    CHECK(stream.reduce({.type = type, .count = count, .sources = {a.at()}, .into = a.at()}));
    CHECK(stream.synchronize(much_later()).has_value());
    REQUIRE(fake_cuda().launches.size() == 1);
    return fake_cuda().launches[0].blocks;
  };
  fake_cuda().resident_blocks = 3;
  CHECK(blocks_of_sum(*cuda.streams[0], ElementType::float32) == 2 * 3);
  fake_cuda().resident_blocks = 5;
  CHECK(blocks_of_sum(*cuda.streams[0], ElementType::float32) == 2 * 3);
  CHECK(blocks_of_sum(*cuda.streams[0], ElementType::uint32) == 2 * 5);
  CHECK(blocks_of_sum(*cuda.streams[1], ElementType::float32) == 2 * 5);
  fake_cuda().failures["cudaOccupancyMaxActiveBlocksPerMultiprocessor"] = invalid_value;
  const DeviceBuffer a = on_device(*cuda.streams[1], std::vector<int8_t>(1, 0));
  check_error(cuda.streams[1]->reduce(
                  {.type = ElementType::int8, .count = 1, .sources = {a.at()}, .into = a.at()}),
              Errc::input, "cuda:1: load a kernel: invalid argument (cudaErrorInvalidValue)");
}

TEST_CASE("a reduction with several results is one launch") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[0];
  const DeviceBuffer a = on_device(stream, std::vector<float>{1, 2, 3});
  const DeviceBuffer b = on_device(stream, std::vector<float>{4, 5, 6});
  const DeviceBuffer c = on_device(stream, std::vector<float>{7, 8, 9});
  fake_cuda().launches.clear();
  CHECK(stream
            .reduce({.type = ElementType::float32,
                     .op = ReduceOp::sum,
                     .count = 3,
                     .sources = {a.at(), b.at()},
                     .into = a.at(),
                     .also = {b.at(), c.at()}})
            .has_value());
  CHECK(values_of<float>(stream, a, 3) == std::vector<float>{5, 7, 9});
  CHECK(values_of<float>(stream, b, 3) == std::vector<float>{5, 7, 9});
  CHECK(values_of<float>(stream, c, 3) == std::vector<float>{5, 7, 9});
  CHECK(fake_cuda().launches.size() == 1);
}

TEST_CASE("a batch of copies is one launch, and of more than a thousand two") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[1];
  for (const size_t pieces : {3, 40, 1400}) {
    fake_cuda().launches.clear();
    std::vector<float> values(pieces * 4);
    std::iota(values.begin(), values.end(), 0.0F);
    const DeviceBuffer from = on_device(stream, values);
    const DeviceBuffer halves = on_device(stream, std::vector<uint16_t>(values.size(), 0));
    const DeviceBuffer back = on_device(stream, std::vector<float>(values.size(), 0));
    CopyBatch pack = {.from = CopyFormat::float32, .to = CopyFormat::bfloat16, .factor = 0.5};
    CopyBatch unpack = {.from = CopyFormat::bfloat16, .to = CopyFormat::float32, .factor = 2};
    for (size_t i = 0; i < pieces; ++i) {
      pack.pieces.push_back({from.at() + i * 16, halves.at() + i * 8, 4});
      unpack.pieces.push_back({halves.at() + i * 8, back.at() + i * 16, 4});
    }
    CHECK(stream.copy_pieces(pack).has_value());
    CHECK(fake_cuda().launches.size() == (pieces > 1000 ? 2 : 1));
    CHECK(stream.copy_pieces(unpack).has_value());
    const std::vector<float> result = values_of<float>(stream, back, values.size());
    for (size_t i = 0; i < 256 && i < values.size(); ++i)
      CHECK(result[i] == values[i]);
  }
  CHECK(stream.copy_pieces({}).has_value());
}

TEST_CASE("a launch of copies has the flag of its batch") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[1];
  const DeviceBuffer flag = on_device(stream, std::vector<uint32_t>{0, 1});
  for (const size_t pieces : {size_t{3}, size_t{1400}}) {
    const DeviceBuffer from = on_device(stream, std::vector<float>(pieces, 2));
    for (const size_t value : {size_t{0}, size_t{1}}) {
      const DeviceBuffer to = on_device(stream, std::vector<float>(pieces, 1));
      CopyBatch batch = {.from = CopyFormat::float32, .to = CopyFormat::float32};
      for (size_t i = 0; i < pieces; ++i)
        batch.pieces.push_back({from.at() + i * 4, to.at() + i * 4, 1});
      batch.skip = reinterpret_cast<const uint32_t*>(flag.at()) + value;
      CHECK(stream.copy_pieces(batch).has_value());
      const float expected = value == 0 ? 2 : 1;
      CHECK(values_of<float>(stream, to, pieces) == std::vector<float>(pieces, expected));
    }
  }
}

TEST_CASE("memory for other processes has whole pages, and is closed with its buffer") {
  FakeCuda world;
  world.memory_bytes = size_t{4} << 20;
  const CudaDevices cuda(world);
  const DeviceBuffer shared = cuda.devices[0]->allocate_shared(100).value();
  CHECK(shared.bytes() == size_t{2} << 20);
  const Bytes handle = cuda.devices[0]->share(shared).value();
  {
    const DeviceBuffer opened = cuda.devices[1]->open_shared(handle).value();
    CHECK(opened.at() == shared.at());
    CHECK(opened.bytes() == shared.bytes());
    CHECK(fake_cuda().live_opened == 1);
  }
  CHECK(fake_cuda().live_opened == 0);
  check_error(cuda.devices[1]->open_shared(ByteSpan(handle).first(70)), Errc::protocol,
              "handle of memory of a GPU is cut short");
  fake_cuda().failures["cudaIpcOpenMemHandle"] = invalid_value;
  check_error(cuda.devices[1]->open_shared(handle), Errc::input,
              "cuda:1: open_shared: invalid argument (cudaErrorInvalidValue)");
}

TEST_CASE(
    "a sum of peers is one launch, of a block for each part and at most one a multiprocessor") {
  FakeCuda world;
  world.memory_bytes = size_t{8} << 20;
  const CudaDevices cuda(world);
  const auto memory = PeerMemory::allocate(*cuda.devices[0], size_t{1} << 18).value();
  REQUIRE(memory->open(0, std::vector{memory->offer().value()}, PeerMeeting::kernels));
  const size_t before = fake_cuda().launches.size();
  for (const size_t count : {3, 60'000}) {
    const std::vector<float> values(count, 5);
    const DeviceBuffer buffer = on_device(*cuda.streams[0], values);
    REQUIRE(
        memory->sum(*cuda.streams[0], {.count = count, .from = buffer.at(), .to = buffer.at()}));
    CHECK(values_of<float>(*cuda.streams[0], buffer, count) == values);
  }
  REQUIRE(fake_cuda().launches.size() == before + 2);
  CHECK(fake_cuda().launches[before].blocks == 1);
  CHECK(fake_cuda().launches[before + 1].blocks == 2);
  CHECK(fake_cuda().launches[before + 1].threads == 512);
  fake_cuda().resident_blocks = 0;
  check_error(cuda.devices[1]->prepare_peers(), Errc::unsupported,
              "cuda:1: a block of a kernel does not fit");
  const DeviceBuffer buffer = cuda.devices[0]->allocate(8).value();
  check_error(
      memory->sum(*cuda.streams[0],
                  {.type = ElementType::int8, .count = 8, .from = buffer.at(), .to = buffer.at()}),
      Errc::unsupported, "cuda:0: sum_peers: there is no kernel for it");
}

TEST_CASE("ranks that share a GPU meet between their launches") {
  FakeCuda world;
  world.memory_bytes = size_t{8} << 20;
  const CudaDevices cuda(world);
  Device& device = *cuda.devices[0];
  const auto other = device.make_stream().value();
  DeviceStream* const streams[] = {cuda.streams[0].get(), other.get()};
  std::vector<std::unique_ptr<PeerMemory>> ranks;
  std::vector<PeerMemoryOffer> offers;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(PeerMemory::allocate(device, size_t{1} << 16).value());
    offers.push_back(ranks.back()->offer().value());
  }
  for (int rank = 0; rank < 2; ++rank)
    REQUIRE(ranks[static_cast<size_t>(rank)]->open(rank, offers, PeerMeeting::streams));
  const size_t before = fake_cuda().launches.size();
  for (int round = 1; round <= 3; ++round) {
    std::vector<DeviceBuffer> buffers;
    for (size_t rank = 0; rank < 2; ++rank) {
      const std::vector<float> values(3, static_cast<float>(rank) + static_cast<float>(round));
      buffers.push_back(on_device(*streams[rank], values));
    }
    for (size_t rank = 0; rank < 2; ++rank) {
      REQUIRE(ranks[rank]->sum(*streams[rank],
                               {.count = 3, .from = buffers[rank].at(), .to = buffers[rank].at()}));
    }
    for (size_t rank = 0; rank < 2; ++rank) {
      CHECK(values_of<float>(*streams[rank], buffers[rank], 3) ==
            std::vector<float>(3, 2 * static_cast<float>(round) + 1));
      CHECK(ranks[rank]->status());
    }
  }
  CHECK(fake_cuda().launches.size() == before + 18);
}

TEST_CASE("wrong arguments are refused with the device and the call, and nothing is queued") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[1];
  std::array<std::byte, 16> memory = {};
  check_error(stream.copy({memory.data() + 1, memory.data(), 8}), Errc::input,
              "cuda:1: copy: the ranges overlap");
  check_error(stream.reduce({.count = 1}), Errc::input,
              "cuda:1: reduce: cannot reduce: there are no arrays");
  ArrayReduction many = {.count = 1, .into = memory.data()};
  many.sources.assign(129, memory.data());
  check_error(stream.reduce(many), Errc::unsupported,
              "cuda:1: reduce: cannot reduce: a kernel takes at most 128 arrays, not 129");
  check_error(stream.copy_pieces({.pieces = {{nullptr, memory.data(), 1}}}), Errc::input,
              "cuda:1: copy_pieces: cannot copy: piece 0 is null");
  const auto foreign = cuda.devices[0]->make_event().value();
  check_error(stream.record(*foreign), Errc::input,
              "cuda:1: record: the event belongs to another device");
  const CpuDevices cpu({});
  const auto event = cpu.device(0).make_event().value();
  check_error(stream.wait(*event), Errc::input,
              "cuda:1: wait: the event belongs to another kind of device");
  CHECK(fake_cuda().launches.empty());
  CHECK(stream.done().value());
}

TEST_CASE("a stream waits for an event of another device") {
  const CudaDevices cuda;
  std::vector<int> values = {1, 2, 3};
  const DeviceBuffer first = cuda.devices[0]->allocate(12).value();
  const DeviceBuffer second = cuda.devices[1]->allocate(12).value();
  const auto event = cuda.devices[0]->make_event().value();
  CHECK(event->done().value());
  CHECK(cuda.streams[0]->copy({first.at(), bytes_at(values), 12}).has_value());
  CHECK(cuda.streams[0]->record(*event).has_value());
  CHECK(cuda.streams[1]->wait(*event).has_value());
  CHECK(cuda.streams[1]->copy({second.at(), first.at(), 12}).has_value());
  CHECK(values_of<int>(*cuda.streams[1], second, 3) == values);
  CHECK(event->done().value());
}

TEST_CASE("waits end at their deadline") {
  FakeCuda world;
  const CudaDevices cuda(world);
  const DeviceBuffer buffer = cuda.devices[0]->allocate(8).value();
  const auto event = cuda.devices[0]->make_event().value();
  fake_cuda().runs = false;
  CHECK(cuda.streams[0]->fill(buffer.at(), std::byte{0}, 8).has_value());
  CHECK(cuda.streams[0]->record(*event).has_value());
  CHECK_FALSE(cuda.streams[0]->done().value());
  CHECK_FALSE(event->done().value());
  check_error(cuda.streams[0]->synchronize(Clock::now()), Errc::timeout,
              "cuda:0: synchronize: calls have not run in time");
  check_error(event->synchronize(Clock::now()), Errc::timeout,
              "cuda:0: an event was not reached in time");
  fake_cuda().runs = true;
  CHECK(event->synchronize(much_later()).has_value());
  CHECK(cuda.streams[0]->synchronize(much_later()).has_value());
}

TEST_CASE("a kernel that fails makes its device unusable, with that error for every later call") {
  const CudaDevices cuda;
  DeviceStream& stream = *cuda.streams[0];
  const DeviceBuffer buffer = on_device(stream, std::vector<int>(4, 1));
  bool called = false;
  fake_cuda().launch_failure = illegal_address;
  CHECK(stream
            .reduce({.type = ElementType::int32,
                     .count = 4,
                     .sources = {buffer.at()},
                     .into = buffer.at()})
            .has_value());
  CHECK(stream.run_on_host([&] { called = true; }).has_value());
  constexpr const char* message =
      "cuda:0: work failed on the GPU, dtrain's or the program's: an illegal memory access was "
      "encountered (cudaErrorIllegalAddress); compute-sanitizer finds the kernel";
  check_error(stream.synchronize(much_later()), Errc::os, message);
  check_error(cuda.devices[0]->status(), Errc::os, message);
  check_error(cuda.devices[0]->allocate(8), Errc::os, message);
  check_error(stream.fill(buffer.at(), std::byte{0}, 4), Errc::os, message);
  check_error(cuda.devices[0]->make_stream(), Errc::os, message);
  CHECK_FALSE(called);
}

TEST_CASE("a call that fails for its own reasons leaves the device usable") {
  const CudaDevices cuda;
  const DeviceBuffer buffer = cuda.devices[0]->allocate(8).value();
  fake_cuda().failures["cudaLaunchHostFunc"] = invalid_value;
  check_error(cuda.streams[0]->run_on_host([] {}), Errc::input,
              "cuda:0: run_on_host: invalid argument (cudaErrorInvalidValue)");
  CHECK(cuda.devices[0]->status().has_value());
  CHECK(cuda.streams[0]->fill(buffer.at(), std::byte{0}, 8).has_value());
}

}  // namespace
}  // namespace dt
