#include "launcher/ssh/keys/identity.h"

#include "base/base64.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/ssh/keys/wire.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dt {

namespace {

constexpr std::string_view openssh_begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_end = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_magic{"openssh-key-v1\0", 15};
/// OpenSSH's own limit for a key file.
constexpr size_t key_file_bytes_max = size_t{1} << 20;

/// Parses the private part: two equal numbers, then the key in ssh-agent's format. The secret is
/// the seed, then the public key.
std::optional<Ed25519Key> ed25519_in(ByteSpan bytes) {
  SshReader reader(bytes);
  const uint32_t check = reader.number();
  const bool intact = reader.number() == check && as_text(reader.string()) == "ssh-ed25519";
  const ByteSpan public_key = reader.string();
  const ByteSpan secret = reader.string();
  if (!intact || !reader.ok() || public_key.size() != 32 || secret.size() != 64)
    return std::nullopt;
  return Ed25519Key::of_seed(secret.first(32));
}

/// Parses OpenSSH's own format, whose head is never encrypted (PROTOCOL.key in its sources).
bool parse_openssh_form(SshIdentity& identity, std::string_view body) {
  const auto bytes = base64_decode(body);
  if (!bytes) return false;
  SshReader reader(*bytes);
  if (as_text(reader.raw(openssh_magic.size())) != openssh_magic) return false;
  const std::string_view cipher = as_text(reader.string());
  reader.string();  // the key derivation's name
  reader.string();
  const uint32_t keys = reader.number();
  const ByteSpan blob = reader.string();
  if (!reader.ok() || keys != 1) return false;
  identity.type = key_type_of(blob);
  identity.public_blob.assign(blob.begin(), blob.end());
  identity.encrypted = cipher != "none";
  if (identity.type == "ssh-ed25519" && !identity.encrypted) {
    identity.ed25519 = ed25519_in(reader.string());
  }
  return !identity.type.empty();
}

Result<std::string> read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Errc::os, errno_text(errno));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > key_file_bytes_max)
      return fail(Errc::input, "it is larger than any key file");
  }
}

}  // namespace

SshIdentity parse_identity(std::string path, std::string text) {
  SshIdentity identity{.path = std::move(path)};
  const size_t begin = text.find(openssh_begin);
  const size_t end = text.find(openssh_end);
  bool understood = text.find(" PRIVATE KEY-----") != std::string::npos;
  if (begin != std::string::npos && end != std::string::npos && begin < end) {
    const size_t body = begin + openssh_begin.size();
    understood = parse_openssh_form(identity, std::string_view(text).substr(body, end - body));
  } else {
    identity.encrypted = text.find("ENCRYPTED") != std::string::npos;
    // libssh2 parses the other formats; the older ones name their type.
    if (text.find("BEGIN RSA PRIVATE") != std::string::npos) identity.type = "ssh-rsa";
  }
  if (!understood) {
    identity.problem = format("{} holds no private key", identity.path);
  } else if (identity.encrypted) {
    identity.problem = format("{0} is encrypted and no ssh-agent holds it; try: ssh-add {0}",
                              shell_quote(identity.path));
  } else {
    identity.secret = std::move(text);
  }
  return identity;
}

std::optional<SshIdentity> load_identity(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  const auto cannot = [&](std::string why) {
    return SshIdentity{.path = path, .problem = std::move(why)};
  };
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) < 0) {
    return cannot(format("cannot read {}: {}", path, errno_text(errno)));
  }
  if (!S_ISREG(status.st_mode)) return cannot(format("{} is no regular file", path));
  Result<std::string> text = read_all(fd.get());
  if (!text) return cannot(format("cannot read {}: {}", path, text.error().message));
  SshIdentity identity = parse_identity(path, *std::move(text));
  if (status.st_uid == getuid() && (status.st_mode & 077) != 0) {
    identity.secret.clear();
    identity.ed25519.reset();
    identity.problem =
        format("{0} may be read by others (mode {1:04o}), so it is not used; try: chmod 600 {0}",
               shell_quote(path), status.st_mode & 07777);
  }
  identity.has_certificate = ::access((path + "-cert.pub").c_str(), F_OK) == 0;
  return identity;
}

std::string_view short_key_type(std::string_view type) {
  if (type.starts_with("sk-")) return "FIDO";
  if (type.find("-cert-v01@") != std::string_view::npos) return "certificate";
  if (type == "ssh-ed25519") return "ed25519";
  if (type.starts_with("ecdsa-")) return "ecdsa";
  if (type == "ssh-rsa") return "rsa";
  return type.empty() ? "key" : type;
}

}  // namespace dt
