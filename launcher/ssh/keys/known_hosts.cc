#include "launcher/ssh/keys/known_hosts.h"

#include "base/base64.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace dt {
namespace {

/// OpenSSH's order of preference, without certificates and DSA.
constexpr std::array<std::string_view, 7> preferred_types = {"ssh-ed25519",
                                                             "ecdsa-sha2-nistp256",
                                                             "ecdsa-sha2-nistp384",
                                                             "ecdsa-sha2-nistp521",
                                                             "sk-ssh-ed25519@openssh.com",
                                                             "sk-ecdsa-sha2-nistp256@openssh.com",
                                                             "ssh-rsa"};

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// Removes the text up to a blank, and the blanks after it, from the front of `text`.
std::string_view take_blank_field(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text = without_blanks(text.substr(word.size()));
  return word;
}

std::optional<Sha1Digest> decode_digest(std::string_view text) {
  const std::optional<Bytes> bytes = base64_decode(text);
  Sha1Digest digest;
  if (!bytes || bytes->size() != digest.size()) return std::nullopt;
  std::ranges::copy(*bytes, digest.begin());
  return digest;
}

/// Returns the name by which files list a host: with brackets on another port than 22.
std::string listed_name(std::string_view host, int port) {
  return port == 22 ? lower_case(host) : format("[{}]:{}", lower_case(host), port);
}

template <class Same>
HostKeyVerdict verdict_of(const std::vector<KnownKey>& keys, const Same& is_same) {
  HostKeyVerdict verdict;
  for (const KnownKey& known : keys) {
    const bool same = is_same(known.key);
    if (same && known.marker == KnownKey::Marker::revoked) {
      return {HostKeyVerdict::Kind::revoked, known};
    }
    const bool decided = verdict.kind == HostKeyVerdict::Kind::known;
    if (known.marker != KnownKey::Marker::none || decided) continue;
    verdict = {same ? HostKeyVerdict::Kind::known : HostKeyVerdict::Kind::changed, known};
  }
  return verdict;
}

template <class Same>
HostKeyVerdict verdict_of_host(const KnownHost& host, const Same& is_same) {
  HostKeyVerdict verdict = verdict_of(host.keys, is_same);
  if (verdict.kind != HostKeyVerdict::Kind::unknown) return verdict;
  // A changed key under the plain name does not count on another port: it may be another server.
  HostKeyVerdict plain = verdict_of(host.keys_without_port, is_same);
  if (plain.kind == HostKeyVerdict::Kind::changed) return verdict;
  return plain;
}

/// Returns the feature of the line that only OpenSSH handles; empty for a plain line.
std::string_view openssh_feature(const KnownKey& known) {
  switch (known.marker) {
    case KnownKey::Marker::cert_authority:
      return "@cert-authority";
    case KnownKey::Marker::revoked:
      return "@revoked";
    case KnownKey::Marker::none:
      return known.by_wildcard ? "a wildcard" : "";
  }
  return "";
}

}  // namespace

std::string KnownKey::place() const {
  return format("{}:{}", printable(file), line);
}

HostKeyVerdict KnownHost::verdict(const HostKey& key) const {
  return verdict_of_host(*this, [&key](const HostKey& known) { return known == key; });
}

HostKeyVerdict KnownHost::verdict(const HostKeyName& key) const {
  return verdict_of_host(*this, [&key](const HostKey& known) { return name_of(known) == key; });
}

std::vector<std::string> KnownHost::key_types() const {
  std::vector<std::string> types;
  for (const std::string_view type : preferred_types) {
    const bool known = std::ranges::any_of(keys, [type](const KnownKey& key) {
      return key.marker == KnownKey::Marker::none && key.key.type == type;
    });
    if (known) types.emplace_back(type);
  }
  return types;
}

std::string KnownHost::needs_openssh() const {
  for (const std::vector<KnownKey>* some : {&keys, &keys_without_port}) {
    for (const KnownKey& known : *some) {
      const std::string_view why = openssh_feature(known);
      if (!why.empty()) return format("{}: {}", known.place(), why);
    }
  }
  return {};
}

KnownHosts::KnownHosts(std::vector<KnownHostsFile> files) : files_(std::move(files)) {
  for (size_t file = 0; file < files_.size(); ++file) {
    std::string_view text = files_[file].text;
    for (size_t number = 1; !text.empty(); ++number) {
      const std::string_view row = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(row.size() + 1, text.size()));
      std::optional<Line> line = parse_line(row);
      if (!line) continue;
      line->file = file;
      line->number = number;
      lines_.push_back(*line);
    }
  }
}

std::optional<KnownHosts::Line> KnownHosts::parse_line(std::string_view text) {
  // OpenSSH reads lines as C strings.
  text = without_blanks(text.substr(0, text.find('\0')));
  if (text.empty() || text.front() == '#') return std::nullopt;
  Line line;
  if (text.front() == '@') {
    const std::string_view marker = take_blank_field(text);
    if (marker != "@cert-authority" && marker != "@revoked") return std::nullopt;
    line.marker =
        marker == "@revoked" ? KnownKey::Marker::revoked : KnownKey::Marker::cert_authority;
    if (text.starts_with('@')) return std::nullopt;
  }
  line.hosts = take_blank_field(text);
  line.key = text;
  if (line.hosts.starts_with('|')) {
    line.hashed = parse_hashed(line.hosts);
    if (!line.hashed) return std::nullopt;
  }
  return line.key.empty() ? std::nullopt : std::optional(line);
}

std::optional<KnownHosts::HashedName> KnownHosts::parse_hashed(std::string_view hosts) {
  if (!hosts.starts_with("|1|")) return std::nullopt;
  hosts.remove_prefix(3);
  const size_t bar = hosts.find('|');
  if (bar == std::string_view::npos) return std::nullopt;
  const std::optional<Sha1Digest> salt = decode_digest(hosts.substr(0, bar));
  const std::optional<Sha1Digest> hash = decode_digest(hosts.substr(bar + 1));
  if (!salt || !hash) return std::nullopt;
  return HashedName{*salt, *hash};
}

bool KnownHosts::matches(const Line& line, std::string_view name, HmacSha1& hmac) {
  if (line.hashed) return hmac.digest(line.hashed->salt, as_bytes(name)) == line.hashed->hash;
  return matches_pattern_list(name, line.hosts) == ListMatch::yes;
}

std::vector<KnownKey> KnownHosts::keys_of(std::string_view name) const {
  HmacSha1 hmac;
  std::vector<KnownKey> keys;
  for (const Line& line : lines_) {
    if (!matches(line, name, hmac)) continue;
    std::optional<HostKey> key = parse_host_key(line.key);
    if (!key) continue;
    const bool wildcard = line.hosts.find_first_of("*?") != std::string_view::npos;
    keys.push_back({line.marker, wildcard, *std::move(key), files_[line.file].path, line.number});
  }
  return keys;
}

KnownHost KnownHosts::find(const HostKeyOwner& owner) const {
  KnownHost host;
  host.name = owner.alias.empty() ? listed_name(owner.host, owner.port) : lower_case(owner.alias);
  host.keys = keys_of(host.name);
  const bool has_port = owner.alias.empty() && owner.port != 22;
  if (has_port) host.keys_without_port = keys_of(lower_case(owner.host));
  return host;
}

std::vector<KnownHostsFile> read_known_hosts(const SshSettings& settings, const SshWorld& world) {
  std::vector<KnownHostsFile> files;
  for (const auto* paths : {&settings.user_known_hosts_files, &settings.global_known_hosts_files}) {
    for (const std::string& path : *paths) {
      Result<std::string> text = world.read(path, false);
      if (text) files.push_back({path, *std::move(text)});
    }
  }
  return files;
}

HostKeyDecision decide_host_key(HostKeyVerdict::Kind verdict, const SshSettings& settings) {
  if (verdict == HostKeyVerdict::Kind::known) return HostKeyDecision::accept;
  if (verdict != HostKeyVerdict::Kind::unknown) {
    return settings.host_key_checking == HostKeyChecking::no ? HostKeyDecision::accept
                                                             : HostKeyDecision::refuse;
  }
  // OpenSSH accepts no new key that it cannot record.
  const bool recordable = !settings.user_known_hosts_files.empty() &&
                          settings.host_name.find_first_of("@?*#[]|'\"\\") == std::string::npos;
  if (settings.host_key_checking == HostKeyChecking::yes || !recordable) {
    return HostKeyDecision::refuse;
  }
  return HostKeyDecision::accept_and_record;
}

}  // namespace dt
