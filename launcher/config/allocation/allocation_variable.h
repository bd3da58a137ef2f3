#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A variable that a scheduler has set to a value that is not empty. Errors name both.
struct AllocationVariable {
  std::string name;
  std::string value;

  /// Returns "NAME=VALUE" for messages.
  std::string text() const;
  /// Returns the error "NAME=VALUE: WHY".
  tl::unexpected<Error> refuse(std::string_view why) const;
  /// Parses a number, min..max.
  Result<int> number(int min, int max) const;
  /// Reads the file that the value names.
  Result<std::string> read_file(const TextReader& read_text) const;
};

std::optional<AllocationVariable> find_variable(const Environment& environment,
                                                std::string_view name);
bool has_variable(const Environment& environment, std::string_view name);
/// Fails for a variable that is not set.
Result<AllocationVariable> need_variable(const Environment& environment, std::string_view name);

}  // namespace dt
