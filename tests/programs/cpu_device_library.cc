// libdtrain with some functions more, for tests in Python: memory and streams of one device of the
// CPU, which takes the place of a GPU. Python has tensors over that memory.
#include "gpu/cpu/cpu_device.h"
#include "tests/unit/gpu/gate.h"

#include <cassert>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace {

void require(const dt::Result<>& result) {
  assert(result.has_value());
}

/// The device of this process, and all that it gave out.
class TestDevice {
 public:
  std::byte* allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    return buffers_.emplace_back(devices_[0]->allocate(bytes).value()).at();
  }
  dt::DeviceStream* make_stream() {
    const std::lock_guard lock(mutex_);
    return streams_.emplace_back(devices_[0]->make_stream().value()).get();
  }
  /// Later work of the stream waits until open() is called.
  void hold(dt::DeviceStream& stream) {
    const std::lock_guard lock(mutex_);
    dt::Gate& gate = gates_.emplace_back();
    require(stream.run_on_host([&gate] { gate.pass(); }));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    for (dt::Gate& gate : gates_)
      gate.open();
  }

 private:
  std::mutex mutex_;
  std::deque<dt::Gate> gates_;
  dt::DeviceList devices_ = dt::open_cpu_devices({.count = 1}).value();
  std::vector<dt::DeviceBuffer> buffers_;
  std::vector<std::unique_ptr<dt::DeviceStream>> streams_;
};

/// Never freed: operations may use its memory until the process ends.
TestDevice& device() {
  static TestDevice* const made = std::make_unique<TestDevice>().release();
  return *made;
}

}  // namespace

extern "C" {

void* dtrain_test_allocate(size_t bytes) {
  return device().allocate(bytes);
}

void* dtrain_test_make_stream() {
  return device().make_stream();
}

void dtrain_test_hold(void* stream) {
  device().hold(*static_cast<dt::DeviceStream*>(stream));
}

void dtrain_test_open() {
  device().open();
}

/// Queues a copy between memory of the device and of the host.
void dtrain_test_copy(void* stream, void* to, const void* from, size_t bytes) {
  require(static_cast<dt::DeviceStream*>(stream)->copy(
      {static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes}));
}

/// True when all work of the stream is done.
bool dtrain_test_done(void* stream) {
  return static_cast<dt::DeviceStream*>(stream)->done().value();
}

}  // extern "C"
