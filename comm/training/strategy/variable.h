#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/training/strategy/replica_devices.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

enum class Aggregation : uint8_t { sum, mean, first_replica };

struct VariableTerms {
  static constexpr size_t name_bytes_max = 255;

  std::string name = {};
  ElementType type = ElementType::float32;
  size_t count = 0;
  bool on_read = false;  ///< each replica has a value of its own
  Aggregation aggregation = Aggregation::sum;
  bool slot = false;  ///< changes only in updates of another variable
  /// The device with the only copy, "cpu" for memory of the host; empty: the strategy decides.
  std::string device = {};

  size_t bytes() const { return count * element_bytes(type); }
  /// Returns "variable w of float32[3] …": equal at workers whose terms are.
  std::string text() const;
};

/// A variable's memory: a copy for each replica, or one that all of them share.
class Variable {
 public:
  struct Placing {
    bool shared = false;  ///< variables that name no device have one copy
    bool soft = false;    ///< memory of the host replaces a device that no replica has
  };
  /// A shared copy lies in memory of the host if there are several devices, else on the device.
  /// Fails with Errc::input where a device has no replica, or where another one cannot use it.
  static Result<std::unique_ptr<Variable>> make(const VariableTerms& terms,
                                                const ReplicaDevices& devices,
                                                const Placing& placing);

  const VariableTerms& terms() const { return terms_; }
  /// True when there is one copy, which owner() updates.
  bool shared() const { return copies_.size() == 1 && replicas_ > 1; }
  std::byte* at(size_t replica) const { return copies_[copies_.size() == 1 ? 0 : replica].at(); }
  size_t copy_count() const { return copies_.size(); }
  /// Returns the replica that updates a copy, by which its memory is also copied.
  size_t owner(size_t copy = 0) const { return shared() ? owner_ : copy; }
  bool is_updated_by(size_t replica) const { return !shared() || replica == owner_; }
  /// Returns a sentence about the place of the variable.
  const std::string& place() const { return place_; }

 private:
  Variable(VariableTerms terms, size_t replicas) : terms_(std::move(terms)), replicas_(replicas) {}
  Result<> place_on_device(const ReplicaDevices& devices, bool soft);
  Result<> place_on_host(const ReplicaDevices& devices);

  VariableTerms terms_;
  size_t replicas_;
  size_t owner_ = 0;  ///< of a shared copy
  std::vector<DeviceBuffer> copies_ = {};
  std::string place_ = {};
};

}  // namespace dt
