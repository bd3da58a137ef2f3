#pragma once

#include "base/result.h"

#include <memory>
#include <optional>
#include <utility>

namespace dt {

struct Operation;

/// The next step of an operation on memory of a device.
struct DeviceStep {
  enum class Kind : uint8_t {
    waits,    ///< for the device, or for something else that ends without the engine
    runs,     ///< the engine runs an operation
    results,  ///< start_results() follows
  };
  Kind kind = Kind::waits;
  std::shared_ptr<Operation> executed = {};  ///< of `runs`; of `results`: it compares the call
  /// Operations that follow in the order of the calls may go to the engine behind this one.
  bool passes = false;

  static DeviceStep wait() { return {}; }
  static DeviceStep run(std::shared_ptr<Operation> executed, bool passes) {
    return {Kind::runs, std::move(executed), passes};
  }
  static DeviceStep end() { return {.kind = Kind::results}; }
  /// The work of start_results() begins beside an operation of the engine. If that fails, stop()
  /// follows.
  static DeviceStep end_beside(std::shared_ptr<Operation> compares) {
    return {Kind::results, std::move(compares)};
  }
};

/// The steps of an operation on memory of a device before and after the engine's operations. Mostly
/// these are copies from and to memory of the host, where the engine computes. No call waits, but
/// for finish() and the destructor.
class DeviceCopies {
 public:
  DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  virtual ~DeviceCopies() = default;

  /// Returns the next step. Called when the operation is the next in its order, and the engine has
  /// run what it got before. Fails when the device has failed.
  virtual Result<DeviceStep> next() = 0;
  /// Starts to copy the results. Called once, after the last step.
  virtual Result<> start_results() = 0;
  /// True when the results lie in memory of the device.
  virtual Result<bool> results_copied() = 0;
  /// True when other ranks wait for what is under way here: they must learn of its failure.
  virtual bool others_wait() const = 0;
  /// Returns why the work of start_results() will end without results, as long as it has not ended.
  /// The others must learn of it at once.
  virtual std::optional<Error> failing() { return std::nullopt; }
  /// True when the work of start_results() has its turn by a CallAgreement.
  virtual bool has_slot() const { return false; }
  /// Called when other ranks will not end the work of start_results(): it must fail soon, with that
  /// error. May be called again.
  virtual void stop(const Error& /*why*/) {}
  /// Called when the operation has ended. Nobody waits any more for results that are not queued.
  virtual void release() = 0;
  /// Waits until no copy uses a buffer. Called after release(), when the context is finalized.
  virtual void finish() = 0;
};

}  // namespace dt
