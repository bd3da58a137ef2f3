#pragma once

#include "comm/include/dtrain/dtrain_device.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace dt {

/// Variables of this process, until the end of a test. NCCL runs all that it can, unless a test
/// gives other ranges to kernels of ours.
class Variables {
 public:
  explicit Variables(const char* collectives, const char* fake = "",
                     const char* library = FAKE_NCCL) {
    set("DTRAIN_CPU_DEVICES", "1");
    set("DTRAIN_NCCL_LIB", library);
    set("DTRAIN_DEVICE_COLLECTIVES", collectives);
    set("FAKE_NCCL", fake);
    set("DTRAIN_PEER_MAX", "0");
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const char* const name : names_)
      unsetenv(name);
  }

  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    names_.push_back(name);
  }

 private:
  std::vector<const char*> names_;
};

inline dtrain_op_options options_named(const char* name) {
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.name = name;
  return options;
}

/// This rank's device, and the calls on it.
struct DeviceRank {
  explicit DeviceRank(dtrain::Context& made) : context(made.get()) {}

  /// Sums three numbers over all ranks.
  int sum(const dtrain_op_options* options = nullptr, size_t device = 0, size_t count = 3) {
    const std::vector<int32_t> values(count, dtrain_rank(context) + 1);
    const DeviceBuffer memory = on_device(cpu.stream(device), values);
    const dtrain_buffers buffers = {nullptr, memory.at(), count, DTRAIN_INT32};
    error = new_error();
    const int status = dtrain_all_reduce(context, buffers, DTRAIN_SUM, options, &error);
    result = values_of<int32_t>(cpu.stream(device), memory, count);
    return status;
  }
  /// Sums until the ranks have voted for NCCL.
  void reach_nccl() {
    while (dtrain_uses_nccl(context) == 0)
      REQUIRE(sum() == DTRAIN_OK);
  }
  /// Sums until a call fails.
  std::string first_failure(const dtrain_op_options* options = nullptr) {
    while (sum(options) == DTRAIN_OK) {
    }
    return error.text;
  }

  CpuDevices cpu{{.count = 2}};
  dtrain_context* context;
  dtrain_error error = new_error();
  std::vector<int32_t> result = {};
};

/// Sums three numbers in place, asynchronously: a call by name if it has one.
struct AsyncSum {
  AsyncSum(DeviceRank& rank, const std::string& name, size_t count = 3, bool gives_stream = false)
      : stream(rank.cpu.stream(0)),
        numbers(count),
        memory(on_device(stream, std::vector<int32_t>(count, dtrain_rank(rank.context) + 1))) {
    dtrain_op_options options = options_named(name.c_str());
    if (gives_stream) options.stream = &stream;
    const dtrain_buffers buffers = {nullptr, memory.at(), count, DTRAIN_INT32};
    work = dtrain_all_reduce_async(rank.context, buffers, DTRAIN_SUM, &options, nullptr);
  }
  AsyncSum(const AsyncSum&) = delete;
  AsyncSum& operator=(const AsyncSum&) = delete;
  ~AsyncSum() { dtrain_work_free(work); }

  void check(int32_t sum) const {
    dtrain_error error = new_error();
    CHECK_MESSAGE(dtrain_work_wait(work, -1, &error) == DTRAIN_OK, error.text);
    CHECK(values_of<int32_t>(stream, memory, numbers) == std::vector<int32_t>(numbers, sum));
  }

  DeviceStream& stream;
  size_t numbers;
  DeviceBuffer memory;
  dtrain_work* work;
};

/// Sums until NCCL runs a sum that never ends. Returns the work.
inline dtrain_work* begin_endless_sum(dtrain_context* context, const DeviceBuffer& memory) {
  const dtrain_buffers buffers = {nullptr, memory.at(), 3, DTRAIN_INT32};
  while (true) {
    dtrain_work* const work =
        dtrain_all_reduce_async(context, buffers, DTRAIN_SUM, nullptr, nullptr);
    while (dtrain_work_wait(work, 1, nullptr) == DTRAIN_PENDING)
      if (dtrain_uses_nccl(context) == 1) return work;
    dtrain_work_free(work);
  }
}

}  // namespace dt
