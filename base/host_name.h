#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// What is wrong with a name, and with which part of it.
struct NameFault {
  std::string message;
  size_t offset = 0;
};

/// A DNS name (letters, digits, - . _) or an IPv4 address; none when `name` is one. A name never
/// starts with "-", so that no program can take it for an option.
std::optional<NameFault> host_name_fault(std::string_view name);
std::optional<NameFault> user_name_fault(std::string_view name);
/// An IPv6 address, with or without %zone.
bool is_ipv6(std::string_view text);
/// One spelling for all that name the same: lower case, addresses in their canonical form.
std::string canonical_host(std::string_view name);

}  // namespace dt
