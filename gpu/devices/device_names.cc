#include "gpu/devices/device_names.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <optional>

namespace dt {
namespace {

constexpr std::string_view cpu_prefix = "cpu:";

std::string listed(const DeviceList& devices) {
  std::vector<std::string> names;
  for (const auto& device : devices)
    names.push_back(device->name());
  return join(names, ", ");
}

/// True for a number, and for a kind of device with a number.
bool is_well_formed(std::string_view plain) {
  for (const std::string_view kind : {cpu_prefix, std::string_view("cuda:")}) {
    if (plain.starts_with(kind)) plain.remove_prefix(kind.size());
  }
  const auto number = parse_integer(plain);
  return number && *number >= 0;
}

/// Returns the first device of the CPU that is not taken.
std::optional<size_t> free_cpu(const DeviceList& devices, const std::vector<size_t>& taken) {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->name().starts_with(cpu_prefix) && std::ranges::count(taken, i) == 0) return i;
  }
  return std::nullopt;
}

/// Returns the place of the device; with soft placement, that of another one, with a sentence.
Result<size_t> find_device(std::string_view name, const DeviceList& devices, bool soft,
                           FoundDevices& found) {
  const auto same = std::ranges::find_if(
      devices, [&](const auto& device) { return names_device(name, *device); });
  if (same != devices.end()) return static_cast<size_t>(same - devices.begin());
  const auto refuse = [&](std::string_view more) {
    return fail(Errc::input, format("no device \"{}\"{}; this process has {}", printable(name),
                                    more, listed(devices)));
  };
  if (!soft || !is_well_formed(plain_device_name(name))) return refuse("");
  const auto cpu = free_cpu(devices, found.places);
  if (!cpu) return refuse(", and no device of the CPU is left to take its place");
  found.fallbacks.push_back(
      format("{} does not exist here: {} takes its place", printable(name), devices[*cpu]->name()));
  return *cpu;
}

}  // namespace

std::string plain_device_name(std::string_view name) {
  std::string plain = lower_case(name);
  for (const std::string_view prefix : {"/job:", "/replica:", "/task:"}) {
    if (plain.starts_with(prefix)) plain.erase(0, plain.find('/', 1));
  }
  for (const std::string_view prefix : {"/", "device:"}) {
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

bool is_device_of(std::string_view name, const DeviceOwner& self) {
  const auto value_of = [&](std::string_view key) -> std::optional<std::string_view> {
    const size_t at = name.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = name.substr(at + key.size());
    return rest.substr(0, rest.find('/'));
  };
  const auto job = value_of("/job:");
  const auto task = value_of("/task:");
  const auto replica = value_of("/replica:");
  const bool local = job == "localhost" && task.value_or("0") == "0";
  if (replica && *replica != "0") return false;
  return local || ((!job || *job == self.job) && (!task || parse_integer(*task) == self.task));
}

bool names_only_cpus(std::string_view names, const DeviceOwner& self) {
  bool any = false;
  for (const std::string_view word : split(names, ',')) {
    const std::string_view name = trim(word);
    if (!is_device_of(name, self)) continue;
    const std::string plain = plain_device_name(name);
    if (plain != "cpu" && !plain.starts_with(cpu_prefix)) return false;
    any = true;
  }
  return any;
}

Result<FoundDevices> find_devices(std::string_view names, const DeviceList& devices,
                                  const DeviceSearch& search) {
  FoundDevices found;
  for (const std::string_view word : split(names, ',')) {
    const std::string_view name = trim(word);
    if (!is_device_of(name, search.self)) continue;
    const size_t place = TRY(find_device(name, devices, search.soft, found));
    if (std::ranges::count(found.places, place) > 0)
      return fail(Errc::input, format("device {} is named twice", devices[place]->name()));
    found.places.push_back(place);
  }
  if (!found.places.empty()) return found;
  return fail(Errc::input,
              format("\"{}\" names no device of /job:{}/task:{}, which has {}", printable(names),
                     printable(search.self.job), search.self.task, listed(devices)));
}

}  // namespace dt
