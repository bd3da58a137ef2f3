#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <string_view>

namespace dt {

/// Writes SSH's big-endian encoding (RFC 4251, section 5) of keys, signatures and agent messages.
class SshWriter {
 public:
  SshWriter& byte(uint8_t value) {
    bytes_.push_back(std::byte{value});
    return *this;
  }
  SshWriter& number(uint32_t value) {
    for (const int shift : {24, 16, 8, 0})
      byte(static_cast<uint8_t>(value >> shift));
    return *this;
  }
  SshWriter& string(ByteSpan value) {
    number(static_cast<uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  SshWriter& string(std::string_view value) { return string(as_bytes(value)); }
  ByteSpan view() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Reads the same. After a read past the end it is not ok, and returns zeros and empty strings.
class SshReader {
 public:
  explicit SshReader(ByteSpan bytes) : rest_(bytes) {}

  uint8_t byte() { return static_cast<uint8_t>(number_of(1)); }
  uint32_t number() { return number_of(4); }
  ByteSpan string() { return raw(number()); }
  ByteSpan raw(size_t size) {
    if (rest_.size() < size) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const ByteSpan taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  bool ok() const { return ok_; }

 private:
  uint32_t number_of(size_t size) {
    uint32_t value = 0;
    for (const std::byte digit : raw(size))
      value = value << 8 | std::to_integer<uint32_t>(digit);
    return value;
  }

  ByteSpan rest_;
  bool ok_ = true;
};

/// Returns the type in front of a public key's blob, "ssh-ed25519"; empty when it is no blob.
inline std::string_view key_type_of(ByteSpan blob) {
  return as_text(SshReader(blob).string());
}

}  // namespace dt
