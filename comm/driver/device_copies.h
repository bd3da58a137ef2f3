#pragma once

#include "base/result.h"

#include <memory>

namespace dt {

struct Operation;

/// The copies of one operation between memory of a device and memory of the host, where the engine
/// computes. No call waits, but for finish().
class DeviceCopies {
 public:
  DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  virtual ~DeviceCopies() = default;

  /// True when the whole input has been copied. Fails when the device has failed.
  virtual Result<bool> input_copied() = 0;
  /// Starts to copy the results. Called once, after the operation has succeeded.
  virtual Result<> start_results() = 0;
  /// True when the results lie in memory of the device.
  virtual Result<bool> results_copied() = 0;
  /// Called when the operation has ended: work of the caller's stream that follows it may run.
  virtual void release() = 0;
  /// Waits until no copy uses a buffer. Called after release(), when the context is finalized.
  virtual void finish() = 0;
};

/// An operation on memory of a device, as the engine plays it on the host.
struct StagedCall {
  std::shared_ptr<Operation> played;
  std::unique_ptr<DeviceCopies> copies;  ///< before and after it
};

}  // namespace dt
