#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/strategy/replica_devices.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

enum class Aggregation : uint8_t { sum, mean, first_replica };

struct VariableTerms {
  std::string name = {};
  ElementType type = ElementType::float32;
  size_t count = 0;
  bool on_read = false;  ///< each replica has a value of its own
  Aggregation aggregation = Aggregation::sum;
  bool slot = false;  ///< changes only in updates of another variable

  size_t bytes() const { return count * element_bytes(type); }
  /// Returns "variable w of 3 elements of type 9 …": equal at workers whose terms are.
  std::string text() const;
};

/// A variable's memory: a copy for each replica, or one that all of them share.
class Variable {
 public:
  /// A shared copy lies in memory of the host if there are several devices, else on the device.
  static Result<std::unique_ptr<Variable>> make(const VariableTerms& terms,
                                                const ReplicaDevices& devices, bool shared);

  const VariableTerms& terms() const { return terms_; }
  /// True when there is one copy, which the first replica updates.
  bool shared() const { return copies_.size() == 1 && replicas_ > 1; }
  std::byte* at(size_t replica) const { return copies_[copies_.size() == 1 ? 0 : replica].at(); }
  /// The replicas that own a copy: the first ones.
  size_t copy_count() const { return copies_.size(); }

 private:
  Variable(VariableTerms terms, size_t replicas) : terms_(std::move(terms)), replicas_(replicas) {}

  VariableTerms terms_;
  size_t replicas_;
  std::vector<DeviceBuffer> copies_ = {};
};

}  // namespace dt
