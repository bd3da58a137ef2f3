// known_hosts: for any bytes, each host key gets a verdict, and a refused one a readable message.

#include "launcher/ssh/keys/known_hosts.h"

#include "tests/fuzz/fuzz.h"

namespace dt {
namespace {

const char* const server_key =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFgJvrI7X9nnx7/F0MbNEOjz/4ZMfJx+4RpICQX/t26";

void check(const KnownHost& host, const HostKey& key) {
  const HostKeyVerdict verdict = host.verdict(key);
  assert(verdict.by.has_value() == (verdict.kind != HostKeyVerdict::Kind::unknown));
  assert(!verdict.by || verdict.by->line > 0);
  check_message({Errc::refused, host.needs_openssh() + "."});
  check_message(
      {Errc::refused, refused_host_key_message(verdict, host, name_of(key), {.host = "node1"})});
  // The line that dtrain itself writes makes the key known.
  for (const std::optional<Sha1Digest> salt :
       {std::optional<Sha1Digest>(), std::optional(Sha1Digest())}) {
    const KnownHosts written({{"kh", known_hosts_line(host.name, key, salt)}});
    assert(written.find({"unused", 22, host.name}).verdict(key).kind ==
           HostKeyVerdict::Kind::known);
  }
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  const KnownHosts known({{"kh", std::string(as_text(bytes))}});
  const HostKey key = parse_host_key(server_key).value();
  for (const HostKeyOwner& owner :
       {HostKeyOwner{"node1"}, HostKeyOwner{"node1", 2222}, HostKeyOwner{"fe80::1", 22, "alias"}}) {
    const KnownHost host = known.find(owner);
    check(host, key);
    for (const KnownKey& listed : host.keys)
      check(host, listed.key);
  }
  if (const std::optional<HostKey> any = host_key_of(bytes)) {
    assert(parse_host_key(host_key_text(*any)) == any);
  }
}

}  // namespace dt
