#include "launcher/export/kubernetes/image_name.h"

#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dt {
namespace {

bool is_small(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_letter_or_digit(char c) {
  return is_small(c) || (c >= 'A' && c <= 'Z');
}

bool has_only(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [others](char c) {
    return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
  });
}

/// True for the first part of several, if it names a registry and no folder of one.
bool is_host(std::string_view part) {
  return part == "localhost" || part.find_first_of(".:") != std::string_view::npos ||
         std::ranges::any_of(part, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool is_host_name(std::string_view host) {
  const bool begins_well = is_letter_or_digit(host.front()) || host.front() == '[';
  return begins_well && has_only(host, ".-:[]") && host.back() != ':';
}

bool is_folder(std::string_view part) {
  return !part.empty() && is_small(part.front()) && is_small(part.back()) &&
         std::ranges::all_of(
             part, [](char c) { return is_small(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_tag(std::string_view tag) {
  constexpr size_t tag_bytes_max = 128;
  return !tag.empty() && tag.size() <= tag_bytes_max && tag.front() != '.' && tag.front() != '-' &&
         has_only(tag, "._-");
}

bool is_digest(std::string_view digest) {
  const size_t colon = digest.find(':');
  return colon != 0 && colon != std::string_view::npos && colon + 1 < digest.size() &&
         has_only(digest.substr(0, colon), "+._-") && has_only(digest.substr(colon + 1), "");
}

}  // namespace

bool is_image_name(std::string_view text) {
  constexpr size_t name_bytes_max = 255;
  const size_t at = text.find('@');
  if (at != std::string_view::npos && !is_digest(text.substr(at + 1))) return false;
  std::string_view name = text.substr(0, at);
  const size_t slash = name.rfind('/');
  const size_t colon = name.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos && !is_tag(name.substr(colon + 1))) return false;
  name = name.substr(0, colon);
  std::vector<std::string_view> parts = split(name, '/');
  if (parts.size() > 1 && is_host(parts.front())) {
    if (!is_host_name(parts.front())) return false;
    parts.erase(parts.begin());
  }
  return name.size() <= name_bytes_max && std::ranges::all_of(parts, is_folder);
}

}  // namespace dt
