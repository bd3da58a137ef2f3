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

/// Returns "cpu:1" for "/device:CPU:1". A number stays as it is.
std::string plain_name(std::string_view name) {
  constexpr std::string_view prefixes[] = {"/", "device:"};
  for (const std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  std::string plain(name);
  std::ranges::transform(plain, plain.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return plain;
}

}  // namespace

Result<std::vector<size_t>> find_devices(std::string_view names, const DeviceList& devices) {
  std::vector<size_t> found;
  for (const std::string_view word : split(names, ',')) {
    const std::string name = plain_name(trim(word));
    const auto number = parse_integer(name);
    const auto same = std::ranges::find_if(devices, [&](const auto& device) {
      return number ? device->index() == *number : device->name() == name;
    });
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
