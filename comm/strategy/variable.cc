#include "comm/strategy/variable.h"

#include "base/format.h"

#include <utility>

namespace dt {

std::string VariableTerms::text() const {
  constexpr const char* aggregations[] = {"sum", "mean", "first replica"};
  return format("a variable \"{}\" of {} elements of type {}, synchronized on {}, by {}", name,
                count, static_cast<int>(type) + 1, on_read ? "read" : "write",
                aggregations[static_cast<size_t>(aggregation)]);
}

Result<std::unique_ptr<Variable>> Variable::make(const VariableTerms& terms,
                                                 const ReplicaDevices& devices, bool shared) {
  std::unique_ptr<Variable> made(new Variable(terms, devices.count()));
  const bool one = shared && !terms.on_read;
  if (one && devices.count() > 1) {
    DeviceBuffer copy = TRY(devices.device(0).allocate_pinned(terms.bytes()));
    made->copies_.push_back(std::move(copy));
    return made;
  }
  for (size_t i = 0; i < devices.count(); ++i) {
    DeviceBuffer copy = TRY(devices.device(i).allocate(terms.bytes()));
    made->copies_.push_back(std::move(copy));
  }
  return made;
}

}  // namespace dt
