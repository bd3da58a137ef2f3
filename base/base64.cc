#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace dt {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Returns `text` without blanks and padding; none when digits and padding are no multiple of four.
std::optional<std::string> unpadded(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (!is_blank(c)) bare += c;
  }
  const size_t used = std::min(bare.find('='), bare.size());
  const size_t padding = bare.size() - used;
  if (bare.size() % 4 != 0 || padding > 2) return std::nullopt;
  if (bare.find_first_not_of('=', used) != std::string::npos) return std::nullopt;
  bare.resize(used);
  return bare;
}

}  // namespace

std::string base64_encode(ByteSpan bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      text += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<Bytes> base64_decode(std::string_view text) {
  const std::optional<std::string> bare = unpadded(text);
  if (!bare) return std::nullopt;
  Bytes bytes;
  bytes.reserve(bare->size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : *bare) {
    const int value = value_of(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xff));
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace dt
