#include "launcher/config/allocation/allocation_variable.h"

#include "base/format.h"
#include "base/text.h"

#include <cstdint>

namespace dt {

std::string AllocationVariable::text() const {
  return format("{}={}", name, printable(value));
}

tl::unexpected<Error> AllocationVariable::refuse(std::string_view why) const {
  return fail(Errc::input, format("{}: {}", text(), why));
}

Result<int> AllocationVariable::number(int min, int max) const {
  const std::optional<int64_t> read = parse_integer(value);
  if (read && *read >= min && *read <= max) return static_cast<int>(*read);
  return refuse(format("expected {}..{}", min, max));
}

Result<std::string> AllocationVariable::read_file(const TextReader& read_text) const {
  if (value.find('\0') != std::string::npos) return refuse("expected a file");
  Result<std::string> read = read_text(value);
  if (!read) return refuse(format("cannot read this file: {}", read.error().message));
  if (trim(*read).empty()) return refuse("this file is empty, but should name the job's hosts");
  return read;
}

std::optional<AllocationVariable> find_variable(const Environment& environment,
                                                std::string_view name) {
  const auto found = environment.find(std::string(name));
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return AllocationVariable{found->first, found->second};
}

bool has_variable(const Environment& environment, std::string_view name) {
  return find_variable(environment, name).has_value();
}

Result<AllocationVariable> need_variable(const Environment& environment, std::string_view name) {
  auto found = find_variable(environment, name);
  if (found) return *std::move(found);
  return fail(Errc::input, format("{} is not set, as the scheduler sets it for its jobs", name));
}

}  // namespace dt
