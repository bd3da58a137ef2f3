#include "comm/training/strategy/variable.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/descriptor.h"
#include "gpu/devices/device_names.h"

#include <utility>

namespace dt {

std::string VariableTerms::text() const {
  constexpr const char* aggregations[] = {"sum", "mean", "first replica"};
  return format("a variable \"{}\" of {}, synchronized on {}, by {}{}", name,
                shape_text(type, count), on_read ? "read" : "write",
                aggregations[static_cast<size_t>(aggregation)],
                device.empty() ? "" : format(", on {}", printable(device)));
}

Result<std::unique_ptr<Variable>> Variable::make(const VariableTerms& terms,
                                                 const ReplicaDevices& devices,
                                                 const Placing& placing) {
  std::unique_ptr<Variable> made(new Variable(terms, devices.count()));
  if (!terms.device.empty()) {
    TRY(made->place_on_device(devices, placing.soft));
    return made;
  }
  if (placing.shared && !terms.on_read && devices.count() > 1) {
    TRY(made->place_on_host(devices));
    return made;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < devices.count(); ++i) {
    DeviceBuffer copy = TRY(devices.allocate(i, terms.bytes()));
    made->copies_.push_back(std::move(copy));
    names.push_back(devices.device(i).name());
  }
  made->place_ = format("variable {} is on {}", printable(terms.name), join(names, ", "));
  return made;
}

Result<> Variable::place_on_host(const ReplicaDevices& devices) {
  DeviceBuffer copy = TRY(devices.device(0).allocate_pinned(terms_.bytes()));
  copies_.push_back(std::move(copy));
  place_ = format("variable {} is in memory of the host", printable(terms_.name));
  return {};
}

Result<> Variable::place_on_device(const ReplicaDevices& devices, bool soft) {
  if (terms_.on_read)
    return fail(Errc::input, "it is synchronized on read, so each replica's device has a copy");
  const auto owner = devices.find(terms_.device);
  if (!owner) {
    const bool host = plain_device_name(trim(terms_.device)) == "cpu";
    std::vector<std::string> names;
    for (size_t i = 0; i < devices.count(); ++i)
      names.push_back(devices.device(i).name());
    if (!host && !soft) {
      return fail(Errc::input, format("no replica has the device \"{}\"; give one of {}, or cpu",
                                      printable(terms_.device), join(names, ", ")));
    }
    TRY(place_on_host(devices));
    if (!host) place_ += format(": no replica has {}", printable(terms_.device));
    return {};
  }
  const Device& own = devices.device(*owner);
  for (size_t i = 0; i < devices.count(); ++i) {
    if (devices.device(i).can_access(own)) continue;
    return fail(Errc::input, format("{} cannot use memory of {}; place the variable on cpu",
                                    devices.device(i).name(), own.name()));
  }
  DeviceBuffer copy = TRY(devices.allocate(*owner, terms_.bytes()));
  copies_.push_back(std::move(copy));
  owner_ = *owner;
  place_ = format("variable {} is on {}", printable(terms_.name), own.name());
  return {};
}

}  // namespace dt
