#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/kernels/array_reduction.h"
#include "base/result.h"
#include "gpu/copy_batch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dt {

// Devices that compute, without a type of CUDA. gpu/cuda/ implements them on GPUs, and gpu/cpu/ on
// threads.
//
// A call on a stream returns when it is queued. With wrong arguments it fails at once, and changes
// nothing. A failure while it runs is final for the device, as in CUDA. The device then runs
// nothing more, and each later call on it fails with that first error (Device::status). Its events
// are reached all the same, so that no other device waits in vain. So a result is valid only when
// every stream that took part in it has been synchronized without an error.

/// The devices whose kernels can use some memory of a device.
enum class KernelAccess : uint8_t {
  peers,       ///< those of each device that can access its device
  own_device,  ///< as that of CUDA's pools and of cuMemMap(); other devices copy it
};

/// Where an address lies.
struct MemoryPlace {
  enum class Kind : uint8_t {
    pageable,  ///< ordinary memory of the host: for copies only
    pinned,    ///< memory of the host from allocate_pinned(): for copies and kernels
    device,
  };
  Kind kind = Kind::pageable;
  int device = -1;  ///< its index; -1: none
  KernelAccess access = KernelAccess::peers;
  bool operator==(const MemoryPlace&) const = default;
};

struct DeviceMemory {
  size_t total_bytes = 0;
  size_t free_bytes = 0;
  bool operator==(const DeviceMemory&) const = default;
};

/// The deleter of a buffer's memory.
struct FreeMemory {
  std::function<void(void* memory)> free;  ///< empty: the memory is not freed
  void operator()(void* memory) const {
    if (free) free(memory);
  }
};

/// Memory of a device, or pinned memory. Its destructor frees it; no queued call may use it then.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// `owner` frees the memory in its deleter, which is a FreeMemory for memory that can be shared.
  DeviceBuffer(std::shared_ptr<void> owner, std::byte* at, size_t bytes)
      : owner_(std::move(owner)), at_(at), bytes_(bytes) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    owner_ = std::move(other.owner_);
    at_ = std::exchange(other.at_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~DeviceBuffer() = default;

  /// Null for no bytes. Else a multiple of 256.
  std::byte* at() const { return at_; }
  size_t bytes() const { return bytes_; }
  /// The memory is not freed: the driver frees it at the end of the process. Requires memory of
  /// Device::allocate_shared().
  void leave_to_driver() {
    if (auto* const deleter = std::get_deleter<FreeMemory>(owner_)) deleter->free = nullptr;
  }

 private:
  std::shared_ptr<void> owner_ = {};
  std::byte* at_ = nullptr;
  size_t bytes_ = 0;
};

/// A point in the work of a stream. A new record() replaces the point; calls that wait for the
/// old one keep it. An event that was never recorded counts as reached. One thread at a time.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  virtual ~DeviceEvent() = default;

  /// True when it is reached.
  virtual Result<bool> done() const = 0;
  /// Waits until it is reached. Fails with Errc::timeout at the deadline.
  virtual Result<> synchronize(Time deadline) const = 0;
};

struct MemoryCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;

  bool overlaps() const {
    const std::less<> before;
    return before(to, from + bytes) && before(from, to + bytes);
  }
};

class Device;
struct PeerAllReduce;

/// Work of one device that runs in the order of the calls. Addresses must stay valid until it has
/// run. The destructor waits for the work. One thread at a time.
class DeviceStream {
 public:
  DeviceStream() = default;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  virtual ~DeviceStream() = default;

  virtual Device& device() const = 0;
  /// The handle by which libraries of its maker know it (cudaStream_t); null: it has none.
  virtual void* native() const { return nullptr; }

  /// The same as Device::allocate(), for later work of this stream. It never waits for work of the
  /// device.
  virtual Result<DeviceBuffer> allocate(size_t bytes) = 0;
  /// Copies between any two places: this device, another one, the host. The ranges do not overlap.
  virtual Result<> copy(const MemoryCopy& copy) = 0;
  /// Makes all copies of the batch by one kernel, or one for each thousand pieces. All pieces lie
  /// in memory that this device can access.
  virtual Result<> copy_pieces(const CopyBatch& batch) = 0;
  /// Sets each byte.
  virtual Result<> fill(std::byte* to, std::byte value, size_t bytes) = 0;
  /// All arrays and results lie in memory that this device can access. There are at most
  /// reduction_results_max results.
  virtual Result<> reduce(const ArrayReduction& reduction) = 0;
  /// Takes part in an all_reduce of ranks whose memory lies on this host (PeerMemory). All steps
  /// together wait for the others' work; one of the three does not (PeerStep). Fails with
  /// Errc::unsupported for a type that peers_can_sum() refuses.
  virtual Result<> sum_peers(ElementType type, const PeerAllReduce& call) = 0;
  /// Sets a number in memory after all earlier work, for other devices and processes. That memory
  /// is the device's, a peer's, or pinned, as that of wait_value(). Fails with Errc::unsupported
  /// where a driver cannot.
  virtual Result<> write_value(uint32_t* at, uint32_t value) = 0;
  /// Later work begins when the number has this value, or one that follows it (peer_reached()). No
  /// kernel waits meanwhile, so that the device is free for other processes.
  virtual Result<> wait_value(const uint32_t* at, uint32_t value) = 0;
  /// Runs `function` on a thread of the host. It must not call devices. Other functions of the
  /// process may wait for it.
  virtual Result<> run_on_host(std::function<void()> function) = 0;

  /// Requires an event of this device.
  virtual Result<> record(DeviceEvent& event) = 0;
  /// Later calls on this stream run when the event is reached, which may be another device's.
  virtual Result<> wait(const DeviceEvent& event) = 0;

  /// True when all calls so far have run.
  virtual Result<bool> done() const = 0;
  /// Waits until all calls so far have run. Fails with Errc::timeout at the deadline.
  virtual Result<> synchronize(Time deadline) = 0;
};

/// A device of this process. Its streams, events and buffers must not outlive it. Any thread may
/// call it.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual int index() const = 0;
  virtual std::string name() const = 0;  ///< "cpu:0", "cuda:0"
  /// "GPU-…", the same in all processes that can use this GPU. Empty: it is none.
  virtual std::string uuid() const { return {}; }
  /// The maker's name of its model, such as "NVIDIA H100 80GB HBM3". Empty: it is no GPU.
  virtual std::string model() const { return {}; }
  /// While the result lives, calls of this thread to libraries of its maker concern this device.
  virtual std::shared_ptr<void> make_current() const { return nullptr; }
  virtual DeviceMemory memory() const = 0;
  /// Fails with the first error of work that ran on this device; such a device stays unusable.
  virtual Result<> status() const = 0;
  /// True when kernels of this device can use memory of that device, which may be itself. There may
  /// be memory that they cannot use all the same (KernelAccess).
  virtual bool can_access(const Device& peer) const = 0;
  /// True when code of the host can use this device's memory at its address.
  virtual bool host_can_access() const { return false; }
  virtual MemoryPlace place_of(const std::byte* address) const = 0;

  /// The memory has no defined content. Fails with Errc::out_of_memory when too little is free.
  virtual Result<DeviceBuffer> allocate(size_t bytes) = 0;
  virtual Result<DeviceBuffer> allocate_pinned(size_t bytes) = 0;
  /// The same as allocate(), for memory that other processes of this host can open.
  virtual Result<DeviceBuffer> allocate_shared(size_t bytes) = 0;
  /// Returns the handle by which they do. Requires memory of allocate_shared().
  virtual Result<Bytes> share(const DeviceBuffer& shared) const = 0;
  /// Returns memory of a device of another process, which kernels of this one can use. That process
  /// must keep it meanwhile: CUDA leaves undefined what it does when it frees the memory before the
  /// result has ended (cudaIpcOpenMemHandle). Fails with Errc::protocol for bytes that are no
  /// handle, and with others where the device cannot reach it.
  virtual Result<DeviceBuffer> open_shared(ByteSpan handle) = 0;
  /// Loads the kernels of copy_pieces(), and of averages for types that NCCL sums. This may wait
  /// for all work of the device.
  virtual Result<> load_kernels() { return {}; }
  /// Loads the kernels of sum_peers(), since none can be loaded while one waits. Returns the most
  /// blocks of one that run at once, at least 1. Fails where not even one can run.
  virtual Result<int> prepare_peers() = 0;
  virtual Result<std::unique_ptr<DeviceStream>> make_stream() = 0;
  /// Returns a stream that the program has made: a cudaStream_t, or the address of a stream of a
  /// CPU device. The program's stream must outlive the result. Fails with Errc::input for one of
  /// another device.
  virtual Result<std::shared_ptr<DeviceStream>> stream_at(void* handle) = 0;
  virtual Result<std::unique_ptr<DeviceEvent>> make_event() = 0;
};

/// The devices of a process, by index.
using DeviceList = std::vector<std::unique_ptr<Device>>;

}  // namespace dt
