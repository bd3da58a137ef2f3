#pragma once

#include "base/result.h"

#include <memory>
#include <optional>

namespace dt {

struct Operation;

/// The parts of an operation on memory of a device before and after the engine's. Mostly these are
/// copies from and to memory of the host, where the engine computes. No call waits, but for
/// finish().
class DeviceCopies {
 public:
  DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  virtual ~DeviceCopies() = default;

  /// Called when the operation is the next in its order, until its input has been copied. Returns
  /// an operation to play before it; null: none.
  virtual std::shared_ptr<Operation> before() { return nullptr; }
  /// True when the whole input has been copied. Fails when the device has failed.
  virtual Result<bool> input_copied() = 0;
  /// Starts to copy the results. Called once, after the operation has succeeded.
  virtual Result<> start_results() = 0;
  /// True when the results lie in memory of the device.
  virtual Result<bool> results_copied() = 0;
  /// True when other ranks wait for what is under way here: they must learn of its failure.
  virtual bool others_wait() const = 0;
  /// Returns why the work of start_results() will end without results, as long as it has not ended.
  /// The others must learn of it at once.
  virtual std::optional<Error> failing() { return std::nullopt; }
  /// The rank to blame for a failure; -1: none.
  virtual int blamed_rank() const { return -1; }
  /// Called when other ranks will not end the work of start_results(): it must fail soon, with that
  /// error. May be called again.
  virtual void stop(const Error& /*why*/) {}
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
