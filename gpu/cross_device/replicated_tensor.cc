#include "gpu/cross_device/replicated_tensor.h"

#include "base/format.h"

#include <algorithm>
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

Result<KernelAccess> check_place(const Device& device, const std::byte* address,
                                 const std::string& role) {
  if (address == nullptr) return fail(Errc::input, format("{} of a tensor is null", role));
  const MemoryPlace place = device.place_of(address);
  if (place.kind == MemoryPlace::Kind::device && place.device == device.index())
    return place.access;
  return fail(Errc::input,
              format("{} of a tensor lies in {}, not on {}", role, text_of(place), device.name()));
}

}  // namespace

Result<KernelAccess> check(const DeviceGroup& group, const CrossDeviceTerms& terms,
                           const ReplicatedTensor& tensor, Destinations destinations) {
  if (tensor.inputs.size() != group.size() || tensor.outputs.size() != group.size()) {
    return fail(Errc::input,
                format("a tensor has {} inputs and {} outputs, but there are {} devices",
                       tensor.inputs.size(), tensor.outputs.size(), group.size()));
  }
  TRY(check(ArrayReduction{.type = terms.type, .op = terms.op, .sources = tensor.inputs}));
  auto access = KernelAccess::peers;
  for (size_t i = 0; i < group.size() && tensor.count > 0; ++i) {
    const KernelAccess of_input =
        TRY(check_place(group.device(i), tensor.inputs[i], format("input {}", i)));
    access = std::max(access, of_input);
    if (tensor.outputs[i] == nullptr && destinations == Destinations::some) continue;
    const KernelAccess of_output =
        TRY(check_place(group.device(i), tensor.outputs[i], format("output {}", i)));
    access = std::max(access, of_output);
  }
  return access;
}

Result<CheckedTensors> check_all(const DeviceGroup& group, const CrossDeviceTerms& terms,
                                 std::span<const ReplicatedTensor> tensors,
                                 Destinations destinations) {
  CheckedTensors checked;
  for (const ReplicatedTensor& tensor : tensors) {
    const KernelAccess access = TRY(check(group, terms, tensor, destinations));
    checked.access = std::max(checked.access, access);
    checked.counts.push_back(tensor.count);
  }
  return checked;
}

Result<> copy_only_replica(const DeviceGroup& group, const CrossDeviceTerms& terms,
                           const ReplicatedTensor& tensor) {
  std::byte* const output = tensor.outputs[0];
  if (output == nullptr || output == tensor.inputs[0]) return {};
  return group.stream(0).copy({output, tensor.inputs[0], tensor.count * element_bytes(terms.type)});
}

}  // namespace dt
