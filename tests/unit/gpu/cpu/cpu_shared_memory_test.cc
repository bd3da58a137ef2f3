#include "gpu/cpu/cpu_shared_memory.h"

#include "base/format.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace dt {
namespace {

TEST_CASE("two processes share memory by its handle") {
  const auto memory = CpuSharedMemory::create(1000).value();
  std::memset(memory->at(), 0, memory->bytes());
  const Bytes handle = encode(memory->handle().value());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Its own mapping of the memory, so that only the handle is left.
    const auto opened = CpuSharedMemory::open(decode_cpu_memory_handle(handle).value());
    if (!opened || (*opened)->bytes() != 1000) _exit(1);
    (*opened)->at()[999] = std::byte{7};
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(memory->at()[999] == std::byte{7});
}

TEST_CASE("memory that is gone is not opened, nor what has its numbers now") {
  auto memory = CpuSharedMemory::create(1000).value();
  const CpuSharedMemory::Handle handle = memory->handle().value();
  const auto refused = [](const CpuSharedMemory::Handle& wrong) {
    const auto opened = CpuSharedMemory::open(wrong);
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().code == Errc::not_found);
    CHECK(opened.error().message == format("process {} has this memory no more", wrong.process));
  };
  CpuSharedMemory::Handle wrong = handle;
  ++wrong.file;
  refused(wrong);
  wrong = handle;
  ++wrong.bytes;
  refused(wrong);
  wrong = handle;
  wrong.descriptor = STDIN_FILENO;
  refused(wrong);
  memory.reset();
  refused(handle);
}

TEST_CASE("bytes that are no handle are refused") {
  const auto memory = CpuSharedMemory::create(1000).value();
  Bytes bytes = encode(memory->handle().value());
  bytes.pop_back();
  CHECK(decode_cpu_memory_handle(bytes).error().code == Errc::protocol);
  CHECK(decode_cpu_memory_handle(encode(CpuSharedMemory::Handle{.process = 0})).error().code ==
        Errc::protocol);
  CHECK(decode_cpu_memory_handle(encode(CpuSharedMemory::Handle{.process = 1, .descriptor = -1}))
            .error()
            .code == Errc::protocol);
}

TEST_CASE("more memory than a process has place for is refused") {
  check_error(CpuSharedMemory::create(size_t{1} << 60), Errc::out_of_memory,
              "cannot map shared memory: Cannot allocate memory");
}

TEST_CASE("memory beyond the limit for files is refused, and the process lives") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit = {999, 999};
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0) _exit(1);
    const auto refused = CpuSharedMemory::create(1000);
    const bool expected =
        !refused && refused.error() == Error{Errc::out_of_memory,
                                             "cannot make 1000 bytes of shared memory: files may "
                                             "not be so large; raise the limit (ulimit -f)"};
    _exit(expected && CpuSharedMemory::create(999) ? 0 : 2);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a device opens shared memory of another one, as large as it was allocated") {
  const CpuDevices world({.count = 1});
  const CpuDevices other({.count = 1});
  const DeviceBuffer shared = world.device(0).allocate_shared(512).value();
  const DeviceBuffer opened =
      other.device(0).open_shared(world.device(0).share(shared).value()).value();
  CHECK(opened.bytes() >= 512);
  std::vector<int32_t> values(128, 5);
  CHECK(world.stream(0).copy({shared.at(), bytes_at(values), 512}));
  CHECK(world.stream(0).synchronize(much_later()));
  CHECK(std::memcmp(opened.at(), values.data(), 512) == 0);
  const DeviceBuffer plain = world.device(0).allocate(512).value();
  check_error(world.device(0).share(plain), Errc::input,
              "cpu:0: share: the memory was not allocated for it");
  check_error(other.device(0).open_shared({}), Errc::protocol,
              "handle of memory of a CPU device is cut short");
}

}  // namespace
}  // namespace dt
