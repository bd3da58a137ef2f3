#include "comm/training/ps/state/variable.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <limits>

namespace dt {

namespace {

/// Returns rows * row_elements * bytes, or the maximum when a product is larger than allowed.
uint64_t checked_bytes(const VariableSpec& variable) {
  uint64_t bytes = element_bytes(variable.type);
  for (const uint64_t size : variable.shape) {
    if (size != 0 && bytes > ps_variable_bytes_max / size)
      return std::numeric_limits<uint64_t>::max();
    bytes *= size;
  }
  return bytes;
}

}  // namespace

uint64_t VariableSpec::row_elements() const {
  uint64_t elements = 1;
  for (size_t i = 1; i < shape.size(); ++i)
    elements *= shape[i];
  return elements;
}

std::string VariableSpec::text() const {
  std::vector<std::string> sizes;
  for (const uint64_t size : shape)
    sizes.push_back(format("{}", size));
  return format("{}[{}], {}", type == ElementType::float64 ? "float64" : "float32",
                join(sizes, ","), optimizer_name(optimizer.kind));
}

Result<> check_ps_variable(const VariableSpec& variable) {
  if (variable.name.empty()) return fail(Errc::input, "a variable has no name");
  if (variable.name.size() > ps_variable_name_bytes_max) {
    return fail(Errc::input, format("a variable's name has {} bytes, more than {}",
                                    variable.name.size(), ps_variable_name_bytes_max));
  }
  const std::string name = printable(variable.name);
  if (variable.type != ElementType::float32 && variable.type != ElementType::float64)
    return fail(Errc::input, format("variable {}: its type must be float32 or float64", name));
  if (variable.shape.size() > variable_dims_max) {
    return fail(Errc::input, format("variable {}: it has {} dimensions, more than {}", name,
                                    variable.shape.size(), variable_dims_max));
  }
  if (std::ranges::count(variable.shape, uint64_t{0}) > 0)
    return fail(Errc::input, format("variable {}: a dimension is 0", name));
  if (checked_bytes(variable) > ps_variable_bytes_max)
    return fail(Errc::input, format("variable {}: it has too many elements", name));
  Result<> checked = check_optimizer(variable.optimizer);
  if (checked) return checked;
  return tl::unexpected(std::move(checked).error().during(
      format("variable {}: {}", name, optimizer_name(variable.optimizer.kind))));
}

}  // namespace dt
