#include "launcher/ssh/keys/host_key.h"

#include "base/base64.h"
#include "base/crypto.h"
#include "base/format.h"

#include <algorithm>
#include <bit>

namespace dt {
namespace {

constexpr size_t blob_bytes_max = size_t{64} << 10;
constexpr unsigned rsa_bits_min = 1024;  // OpenSSH loads no shorter one

/// Reads strings of RFC 4251. After a truncated one it returns empty strings, and is not ok.
class WireReader {
 public:
  explicit WireReader(ByteSpan bytes) : rest_(bytes) {}
  std::string_view string() {
    const ByteSpan head = raw(4);
    uint32_t size = 0;
    for (const std::byte b : head)
      size = size << 8 | static_cast<uint32_t>(b);
    return as_text(raw(size));
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  ByteSpan raw(size_t size) {
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return {};
    const ByteSpan taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  ByteSpan rest_;
  bool ok_ = true;
};

size_t bits_of(std::string_view number) {
  number.remove_prefix(std::min(number.find_first_not_of('\0'), number.size()));
  if (number.empty()) return 0;
  const auto first = static_cast<unsigned char>(number.front());
  return (number.size() - 1) * 8 + static_cast<size_t>(std::bit_width(first));
}

bool is_positive_number(std::string_view text) {
  // OpenSSH refuses negative numbers.
  return !text.empty() && static_cast<unsigned char>(text.front()) < 0x80;
}

bool has_rsa(WireReader& reader) {
  const std::string_view exponent = reader.string();
  const std::string_view modulus = reader.string();
  return is_positive_number(exponent) && is_positive_number(modulus) &&
         bits_of(modulus) >= rsa_bits_min;
}

bool has_dsa(WireReader& reader) {
  for (int i = 0; i < 4; ++i) {
    if (!is_positive_number(reader.string())) return false;
  }
  return true;
}

bool has_ed25519(WireReader& reader) {
  return reader.string().size() == 32;
}

/// True for the curve's name and an uncompressed point. Does not check that the point is on the
/// curve.
bool has_ecdsa(WireReader& reader, std::string_view type) {
  const std::string_view curve = reader.string();
  const std::string_view point = reader.string();
  const std::string_view name = type.substr(0, type.find('@'));
  if (name.substr(name.rfind('-') + 1) != curve) return false;
  const size_t bytes = curve == "nistp256" ? 65 : curve == "nistp384" ? 97 : 133;
  return point.size() == bytes && point.front() == 4;
}

bool has_key(WireReader& reader, std::string_view type) {
  if (type == "ssh-rsa") return has_rsa(reader);
  if (type == "ssh-dss") return has_dsa(reader);
  if (type == "ssh-ed25519") return has_ed25519(reader);
  if (type == "ecdsa-sha2-nistp256" || type == "ecdsa-sha2-nistp384" ||
      type == "ecdsa-sha2-nistp521") {
    return has_ecdsa(reader, type);
  }
  // A key on a hardware token ends with the name of its application.
  if (type == "sk-ssh-ed25519@openssh.com") return has_ed25519(reader) && !reader.string().empty();
  if (type == "sk-ecdsa-sha2-nistp256@openssh.com") {
    return has_ecdsa(reader, type) && !reader.string().empty();
  }
  return false;
}

/// Removes blanks and the field after them from the front of `text`.
std::string_view take_field(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<HostKey> host_key_of(ByteSpan blob) {
  if (blob.size() > blob_bytes_max) return std::nullopt;
  WireReader reader(blob);
  const std::string_view type = reader.string();
  if (!reader.ok() || !has_key(reader, type) || !reader.at_end()) return std::nullopt;
  return HostKey{std::string(type), Bytes(blob.begin(), blob.end())};
}

std::optional<HostKey> parse_host_key(std::string_view text) {
  const std::string_view type = take_field(text);
  const std::string_view encoded = take_field(text);
  if (encoded.size() > 2 * blob_bytes_max) return std::nullopt;
  const std::optional<Bytes> blob = base64_decode(encoded);
  std::optional<HostKey> key = blob ? host_key_of(*blob) : std::nullopt;
  // OpenSSH accepts the names of the two signature algorithms as names of the key type.
  const bool rsa = type == "rsa-sha2-256" || type == "rsa-sha2-512";
  if (key && key->type != (rsa ? "ssh-rsa" : type)) return std::nullopt;
  return key;
}

std::string host_key_text(const HostKey& key) {
  return format("{} {}", key.type, base64_encode(key.blob));
}

std::string fingerprint(const HostKey& key) {
  std::string text = base64_encode(sha256(key.blob));
  return "SHA256:" + text.substr(0, text.find('='));
}

HostKeyName name_of(const HostKey& key) {
  return {key.type, fingerprint(key)};
}

}  // namespace dt
