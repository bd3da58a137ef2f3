#pragma once

#include "base/result.h"

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The state of a CUDA device that its streams and events share. Any thread may call it. A status
/// is a cudaError_t.
class CudaState {
 public:
  explicit CudaState(int index) : index_(index) {}

  int index() const { return index_; }
  std::string name() const;  ///< "cuda:0"

  /// Fails with the first failure of work on this device.
  Result<> status() const;
  /// Returns the result of a call. A failure of earlier work, which every later call reports too,
  /// becomes the failure of the device.
  Result<> check(int status, std::string_view call);

  /// By the index of another device: kernels of this one can use its memory. Set before the first
  /// use.
  std::vector<bool> peers = {};
  unsigned multiprocessors = 1;

 private:
  int index_;
  mutable std::mutex mutex_;
  std::optional<Error> failure_ = {};
};

/// While it lives, calls of this thread concern the device. Then those of the program's device
/// again.
class CurrentCudaDevice {
 public:
  explicit CurrentCudaDevice(int index);
  ~CurrentCudaDevice();
  CurrentCudaDevice(const CurrentCudaDevice&) = delete;
  CurrentCudaDevice& operator=(const CurrentCudaDevice&) = delete;

 private:
  int before_ = -1;
};

}  // namespace dt
