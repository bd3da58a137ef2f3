#include "base/host_name.h"

#include "base/format.h"
#include "base/text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace dt {
namespace {

constexpr size_t name_bytes_max = 253;
constexpr size_t label_bytes_max = 63;
constexpr size_t user_bytes_max = 64;
constexpr std::string_view decimal_digits = "0123456789";
constexpr std::string_view letters_and_digits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// `of` is "host name" or "user name".
NameFault bad_character(std::string_view name, size_t offset, std::string_view of) {
  size_t length = 1;
  if (static_cast<unsigned char>(name[offset]) >= 0xC0) {
    while (offset + length < name.size() &&
           (static_cast<unsigned char>(name[offset + length]) & 0xC0) == 0x80) {
      ++length;
    }
  }
  const std::string_view character = name.substr(offset, length);
  std::string code;
  for (const char byte : character) {
    code += format("{}0x{:02X}", code.empty() ? "" : " ", static_cast<unsigned char>(byte));
  }
  const bool ascii = static_cast<unsigned char>(name[offset]) < 0x80;
  return {format("invalid character \"{}\" ({}) in {}{}", printable(character), code, of,
                 ascii ? "" : "; write international names as xn--…"),
          offset};
}

std::optional<NameFault> character_fault(std::string_view name, std::string_view extra,
                                         std::string_view of) {
  if (name.starts_with('-')) return NameFault{format("{} may not start with \"-\"", of), 0};
  for (size_t i = 0; i < name.size(); ++i) {
    const bool known = letters_and_digits.find(name[i]) != std::string_view::npos ||
                       extra.find(name[i]) != std::string_view::npos;
    if (!known) return bad_character(name, i, of);
  }
  return std::nullopt;
}

std::optional<NameFault> label_fault(std::string_view name) {
  // One dot at the end marks a fully qualified name of DNS.
  if (name.ends_with('.')) name.remove_suffix(1);
  size_t offset = 0;
  for (const std::string_view label : split(name, '.')) {
    if (label.empty()) return NameFault{"host name has an empty label", offset};
    if (label.size() > label_bytes_max) {
      return NameFault{format("a label of the host name has {} characters, at most {} are allowed",
                              label.size(), label_bytes_max),
                       offset};
    }
    offset += label.size() + 1;
  }
  return std::nullopt;
}

bool is_ipv4(std::string_view text) {
  in_addr address = {};
  return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

}  // namespace

std::optional<NameFault> host_name_fault(std::string_view name) {
  if (name.empty()) return NameFault{"host name is missing", 0};
  if (auto fault = character_fault(name, "-._", "host name")) return fault;
  if (name.size() > name_bytes_max) {
    return NameFault{
        format("host name has {} characters, at most {} are allowed", name.size(), name_bytes_max),
        0};
  }
  if (auto fault = label_fault(name)) return fault;
  // Resolvers read "4" as 0.0.0.4: a last label of digits is an address or a mistake.
  const std::string_view last = split(name.substr(0, name.find_last_not_of('.') + 1), '.').back();
  if (last.find_first_not_of(decimal_digits) == std::string_view::npos && !is_ipv4(name)) {
    return NameFault{format("\"{}\" is neither a host name nor an IPv4 address", name), 0};
  }
  return std::nullopt;
}

std::optional<NameFault> user_name_fault(std::string_view name) {
  if (name.empty()) return NameFault{"user name is missing before \"@\"", 0};
  if (auto fault = character_fault(name, "-._+", "user name")) return fault;
  if (name.size() > user_bytes_max) {
    return NameFault{
        format("user name has {} characters, at most {} are allowed", name.size(), user_bytes_max),
        0};
  }
  return std::nullopt;
}

bool is_ipv6(std::string_view text) {
  const size_t percent = text.find('%');
  if (percent != std::string_view::npos) {
    const std::string_view zone = text.substr(percent + 1);
    if (zone.empty() || character_fault(zone, "-._", "zone")) return false;
  }
  in6_addr address = {};
  return text.find('\0') == std::string_view::npos &&
         inet_pton(AF_INET6, std::string(text.substr(0, percent)).c_str(), &address) == 1;
}

std::string canonical_host(std::string_view name) {
  if (is_ipv6(name)) {
    const size_t percent = std::min(name.find('%'), name.size());
    in6_addr address = {};
    std::array<char, INET6_ADDRSTRLEN> text = {};
    inet_pton(AF_INET6, std::string(name.substr(0, percent)).c_str(), &address);
    inet_ntop(AF_INET6, &address, text.data(), text.size());
    return text.data() + std::string(name.substr(percent));
  }
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower.ends_with('.')) lower.pop_back();
  return lower;
}

}  // namespace dt
