#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A fault of a name: a message, and the offset of the wrong part.
struct NameFault {
  std::string message;
  size_t offset = 0;
};

/// Returns none when `name` is a DNS name (letters, digits, - . _) or an IPv4 address. A valid name
/// never starts with "-": a program could read it as an option.
std::optional<NameFault> host_name_fault(std::string_view name);
std::optional<NameFault> user_name_fault(std::string_view name);
/// True for an IPv6 address, with or without %zone.
bool is_ipv6(std::string_view text);
/// Returns one spelling for all names of the same host: lower case, addresses in canonical form.
std::string canonical_host(std::string_view name);

}  // namespace dt
