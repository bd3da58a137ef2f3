#pragma once

#include "base/result.h"
#include "gpu/cuda/stream_memory.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class CudaState;

/// While it lives, calls of this thread concern the device, and break no capture of a graph that
/// the program makes in any thread. Then the program's device and mode are those of before.
///
/// It pushes the device's primary context. cudaSetDevice() would make one on the device of before
/// when it goes back: on GPU 0, for each process of the host.
class CurrentCudaDevice {
 public:
  explicit CurrentCudaDevice(CudaState& state);
  ~CurrentCudaDevice();
  CurrentCudaDevice(const CurrentCudaDevice&) = delete;
  CurrentCudaDevice& operator=(const CurrentCudaDevice&) = delete;

  /// Fails where the device cannot be used. Then calls would concern another one.
  const Result<>& entered() const { return entered_; }

 private:
  CudaState& state_;
  Result<> entered_;
  int capture_mode_ = 0;  ///< of the program
};

/// The state of a CUDA device that its streams and events share. Any thread may call it. A status
/// is a cudaError_t.
class CudaState {
 public:
  CudaState(int index, int devices) : index_(index), peers_(static_cast<size_t>(devices)) {}

  int index() const { return index_; }
  std::string name() const;  ///< "cuda:0"

  /// Fails with the first failure of work on this device.
  Result<> status() const;
  /// Returns the result of a call. A failure of earlier work, which every later call reports too,
  /// becomes the failure of the device.
  Result<> check(int status, std::string_view call);
  /// Makes a call of CUDA on this device, and checks its status. The first one makes the primary
  /// context, unless the program has.
  template <class Call>
  Result<> run(std::string_view name, const Call& call) {
    const CurrentCudaDevice current(*this);
    TRY(current.entered());
    return check(call(), name);
  }
  /// The same for a question whose status may be "not ready": false.
  template <class Call>
  Result<bool> ask(std::string_view name, const Call& call) {
    bool ready = true;
    TRY(run(name, [&] { return ready_status(call(), ready); }));
    return ready;
  }
  /// True when kernels of this device can use memory of that other one. The first question makes
  /// it so where the hardware can.
  bool can_access(int peer);
  /// Asks the driver once. Fails as find_stream_memory() does.
  const Result<StreamMemory>& stream_memory();
  /// False for memory of this device that kernels of other ones cannot use, although can_access()
  /// is true: that of pools and of cuMemMap(). Requires that the device was used.
  bool is_for_peers(const void* address) const;

  /// Returns how many blocks of the kernel fit on a multiprocessor at once. The first question
  /// loads the kernel, for which CUDA may wait for earlier work.
  Result<unsigned> resident_blocks(const void* kernel, unsigned threads);

  unsigned multiprocessors = 1;

 private:
  friend CurrentCudaDevice;
  Result<> enter();
  void leave() const;
  Result<> make_context();
  static int ready_status(int status, bool& ready);

  int index_;
  mutable std::mutex mutex_;
  std::optional<Error> failure_ = {};
  std::vector<std::optional<bool>> peers_;                ///< by index; none: not asked yet
  std::map<const void*, unsigned> resident_blocks_ = {};  ///< by kernel
  std::once_flag asked_for_memory_ = {};
  Result<StreamMemory> memory_ = {};
  void* context_ = nullptr;               ///< the primary one, which stays to the end
  int (*push_)(void* context) = nullptr;  ///< cuCtxPushCurrent()
  int (*pop_)(void** context) = nullptr;  ///< cuCtxPopCurrent()
  /// cuPointerGetAttribute()
  int (*pointer_attribute_)(void* into, int attribute, unsigned long long address) = nullptr;
};

}  // namespace dt
