#include "gpu/devices/device_names.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <string>

namespace dt {
namespace {

std::string listed(const DeviceList& devices) {
  std::vector<std::string> names;
  for (const auto& device : devices)
    names.push_back(device->name());
  return join(names, ", ");
}

}  // namespace

std::string plain_device_name(std::string_view name) {
  constexpr std::string_view prefixes[] = {"/", "device:"};
  std::string plain = lower_case(name);
  for (const std::string_view prefix : prefixes) {
    if (plain.starts_with(prefix)) plain.erase(0, prefix.size());
  }
  constexpr std::string_view gpu = "gpu:";
  return plain.starts_with(gpu) ? "cuda:" + plain.substr(gpu.size()) : plain;
}

bool names_device(std::string_view name, const Device& device) {
  const std::string plain = plain_device_name(trim(name));
  const auto number = parse_integer(plain);
  return number ? device.index() == *number : device.name() == plain;
}

Result<std::vector<size_t>> find_devices(std::string_view names, const DeviceList& devices) {
  std::vector<size_t> found;
  for (const std::string_view word : split(names, ',')) {
    const auto same = std::ranges::find_if(
        devices, [&](const auto& device) { return names_device(word, *device); });
    if (same == devices.end()) {
      return fail(Errc::input, format("no device \"{}\"; this process has {}",
                                      printable(trim(word)), listed(devices)));
    }
    const auto place = static_cast<size_t>(same - devices.begin());
    if (std::ranges::count(found, place) > 0)
      return fail(Errc::input, format("device {} is named twice", (*same)->name()));
    found.push_back(place);
  }
  return found;
}

}  // namespace dt
