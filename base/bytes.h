#pragma once

#include "base/result.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dt {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes to_bytes(std::string_view text) {
  const ByteSpan span = as_bytes(text);
  return {span.begin(), span.end()};
}

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

/// Encodes values little-endian, one after the other.
class Writer {
 public:
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  Writer& number(T value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
    return *this;
  }
  Writer& raw(ByteSpan bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// u32 length, then the bytes.
  Writer& text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    return raw(as_bytes(value));
  }
  Writer& blob(ByteSpan value) { return text(as_text(value)); }
  Writer& texts(const std::vector<std::string>& values) {
    number(static_cast<uint32_t>(values.size()));
    for (const std::string& value : values)
      text(value);
    return *this;
  }

  Bytes take() { return std::move(bytes_); }
  ByteSpan view() const { return bytes_; }

 private:
  Bytes bytes_;
};

/// Decodes the output of Writer. A read past the end, or an impossible length, makes the reader
/// bad. It then yields zeros and empty texts, and `finish` fails. No read allocates more than the
/// bytes that are left.
class Reader {
 public:
  explicit Reader(ByteSpan bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  T number() {
    if constexpr (std::is_same_v<T, bool>) {
      // A bool with another bit pattern would be undefined behaviour.
      const auto value = number<uint8_t>();
      bad_ = bad_ || value > 1;
      return value == 1;
    }
    T value{};
    if (rest_.size() < sizeof value) {
      bad_ = true;
      rest_ = {};
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  ByteSpan raw(size_t size) {
    if (rest_.size() < size) {
      bad_ = true;
      rest_ = {};
      return {};
    }
    const ByteSpan taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::string text() { return std::string(as_text(raw(number<uint32_t>()))); }
  Bytes blob() {
    const ByteSpan span = raw(number<uint32_t>());
    return {span.begin(), span.end()};
  }
  /// Reads a count of items that need at least `item_bytes_min` each. Returns 0 and makes the
  /// reader bad when the bytes left cannot hold so many.
  uint32_t count(size_t item_bytes_min) {
    const auto n = number<uint32_t>();
    if (n * item_bytes_min <= rest_.size()) return n;
    bad_ = true;
    rest_ = {};
    return 0;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count(sizeof(uint32_t)));
    for (std::string& value : values)
      value = text();
    return values;
  }
  /// Makes the reader bad, because a value that it returned is invalid.
  void refuse() {
    bad_ = true;
    rest_ = {};
  }
  ByteSpan rest() const { return rest_; }
  bool ok() const { return !bad_; }

  /// Fails with Errc::protocol when the reader is bad or bytes are left.
  Result<> finish(std::string_view what) const {
    if (bad_) return fail(Errc::protocol, std::string(what) + " is cut short");
    if (!rest_.empty()) return fail(Errc::protocol, std::string(what) + " has trailing bytes");
    return {};
  }

 private:
  ByteSpan rest_;
  bool bad_ = false;
};

}  // namespace dt
