#include "gpu/cross_device/replicated_tensor.h"

#include "base/format.h"

#include <string>

namespace dt {

namespace {

std::string text_of(const MemoryPlace& place) {
  switch (place.kind) {
    case MemoryPlace::Kind::pageable:
      return "pageable memory of the host";
    case MemoryPlace::Kind::pinned:
      return "pinned memory of the host";
    case MemoryPlace::Kind::device:
      break;
  }
  return format("memory of device {}", place.device);
}

Result<> check_place(const Device& device, const std::byte* address, const std::string& role) {
  if (address == nullptr) return fail(Errc::input, format("{} of a tensor is null", role));
  const MemoryPlace place = device.place_of(address);
  if (place.kind == MemoryPlace::Kind::device && place.device == device.index()) return {};
  return fail(Errc::input,
              format("{} of a tensor lies in {}, not on {}", role, text_of(place), device.name()));
}

}  // namespace

Result<> check(const DeviceGroup& group, const CrossDeviceTerms& terms,
               const ReplicatedTensor& tensor, Destinations destinations) {
  if (tensor.inputs.size() != group.size() || tensor.outputs.size() != group.size()) {
    return fail(Errc::input,
                format("a tensor has {} inputs and {} outputs, but there are {} devices",
                       tensor.inputs.size(), tensor.outputs.size(), group.size()));
  }
  TRY(check(ArrayReduction{.type = terms.type, .op = terms.op, .sources = tensor.inputs}));
  if (tensor.count == 0) return {};
  for (size_t i = 0; i < group.size(); ++i) {
    TRY(check_place(group.device(i), tensor.inputs[i], format("input {}", i)));
    const bool none = tensor.outputs[i] == nullptr && destinations == Destinations::some;
    if (!none) TRY(check_place(group.device(i), tensor.outputs[i], format("output {}", i)));
  }
  return {};
}

Result<std::vector<size_t>> checked_counts(const DeviceGroup& group, const CrossDeviceTerms& terms,
                                           std::span<const ReplicatedTensor> tensors) {
  std::vector<size_t> counts;
  for (const ReplicatedTensor& tensor : tensors) {
    TRY(check(group, terms, tensor, Destinations::all));
    counts.push_back(tensor.count);
  }
  return counts;
}

Result<> copy_only_replica(const DeviceGroup& group, const CrossDeviceTerms& terms,
                           const ReplicatedTensor& tensor) {
  std::byte* const output = tensor.outputs[0];
  if (output == nullptr || output == tensor.inputs[0]) return {};
  return group.stream(0).copy({output, tensor.inputs[0], tensor.count * element_bytes(terms.type)});
}

}  // namespace dt
