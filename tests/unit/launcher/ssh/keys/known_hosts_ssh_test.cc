#include "launcher/ssh/keys/known_hosts.h"
#include "tests/unit/launcher/ssh/sshd_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

/// One server, one set of known_hosts files, one login.
struct Fixture {
  std::string name;
  /// The user's file; {ed25519}, {ecdsa}, {rsa}, {other} and {ca} stand for keys.
  std::string user;
  std::string host = "node1";
  int port = 22;
  std::string alias = {};
  HostKeyChecking checking = HostKeyChecking::yes;
  std::vector<std::string> shows = {"ed25519", "ecdsa", "rsa"};
  std::string global = {};
  std::string expected = {};
};

std::string option_of(HostKeyChecking checking) {
  switch (checking) {
    case HostKeyChecking::yes:
      return "yes";
    case HostKeyChecking::accept_new:
      return "accept-new";
    case HostKeyChecking::no:
      return "no";
  }
  return "";
}

std::string with_keys(std::string text, const RealSshd& sshd) {
  for (const std::string name : {"ed25519", "ecdsa", "rsa", "other", "ca"}) {
    const std::string mark = "{" + name + "}";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos;)
      text.replace(at, mark.size(), sshd.key_text(name));
  }
  return text;
}

SshSettings settings_of(const Fixture& fixture, const RealSshd& sshd) {
  return {.host_name = fixture.host,
          .port = fixture.port,
          .user_known_hosts_files = {sshd.path("user")},
          .global_known_hosts_files = {sshd.path("global")},
          .host_key_checking = fixture.checking,
          .host_key_alias = fixture.alias};
}

KnownHost known_host(const Fixture& fixture, const RealSshd& sshd) {
  const KnownHosts all(read_known_hosts(settings_of(fixture, sshd), this_machine_for_ssh()));
  return all.find({fixture.host, fixture.port, fixture.alias});
}

/// Returns the key that libssh2 would get. Its type is the best that the server has, the known
/// types before all others.
HostKey shown_key(const KnownHost& host, const Fixture& fixture, const RealSshd& sshd) {
  std::vector<std::string> types = host.key_types();
  types.insert(types.end(), {"ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"});
  for (const std::string& type : types) {
    for (const std::string& name : fixture.shows) {
      if (name != "certificate" && sshd.key(name).type == type) return sshd.key(name);
    }
  }
  return {};
}

std::string outcome_of(HostKeyVerdict::Kind kind, const SshSettings& settings) {
  switch (decide_host_key(kind, settings)) {
    case HostKeyDecision::accept:
      return "accepted";
    case HostKeyDecision::accept_and_record:
      return "recorded";
    case HostKeyDecision::refuse:
      break;
  }
  if (kind == HostKeyVerdict::Kind::changed) return "changed";
  return kind == HostKeyVerdict::Kind::revoked ? "revoked" : "unknown";
}

RealVerdict ask_ssh(const Fixture& fixture, const RealSshd& sshd,
                    std::vector<std::string> options = {}) {
  options.push_back(format("Port={}", fixture.port));
  options.push_back("StrictHostKeyChecking=" + option_of(fixture.checking));
  if (!fixture.alias.empty()) options.push_back("HostKeyAlias=" + fixture.alias);
  return sshd.ask(fixture.host, options);
}

void lay_out(const Fixture& fixture, const RealSshd& sshd) {
  sshd.folder().write("user", with_keys(fixture.user, sshd));
  sshd.folder().write("global", with_keys(fixture.global, sshd));
  sshd.show_keys(fixture.shows);
}

void check_agreement(const Fixture& fixture, const RealSshd& sshd) {
  CAPTURE(fixture.name);
  lay_out(fixture, sshd);
  const KnownHost host = known_host(fixture, sshd);
  const HostKey key = shown_key(host, fixture, sshd);
  const HostKeyVerdict verdict = host.verdict(key);
  const RealVerdict real = ask_ssh(fixture, sshd);
  CHECK(real.outcome == fixture.expected);
  CHECK(outcome_of(verdict.kind, settings_of(fixture, sshd)) == real.outcome);
  CHECK(key.type == real.key_type);
  CHECK(fingerprint(key) == real.fingerprint);
  if (!real.place.empty()) {
    REQUIRE(verdict.by);
    CHECK(verdict.by->place() == real.place);
  }
}

std::string hashed(const std::string& name, const RealSshd& sshd, const std::string& key) {
  Sha1Digest salt = {};
  REQUIRE(random_bytes(salt));
  return known_hosts_line(name, sshd.key(key), salt);
}

/// Skips the test, with the reason, where no sshd can run.
bool cannot_run() {
  const std::optional<std::string> obstacle = RealSshd::obstacle();
  if (obstacle) MESSAGE("skipped: " << *obstacle);
  return obstacle.has_value();
}

TEST_CASE("the verdict is a real ssh's: names, ports and key types") {
  if (cannot_run()) return;
  const RealSshd sshd;
  const Fixture fixtures[] = {
      {.name = "plain", .user = "node1 {ed25519}\n", .expected = "accepted"},
      {.name = "hashed",
       .user = hashed("other", sshd, "ecdsa") + hashed("node1", sshd, "ed25519"),
       .expected = "accepted"},
      {.name = "hashed, changed", .user = hashed("node1", sshd, "other"), .expected = "changed"},
      {.name = "port",
       .user = "node1 {other}\n[node1]:2222 {ed25519}\n",
       .port = 2222,
       .expected = "accepted"},
      {.name = "hashed with a port",
       .user = hashed("[node1]:2222", sshd, "ed25519"),
       .port = 2222,
       .expected = "accepted"},
      {.name = "another port's line", .user = "[node1]:2222 {ed25519}\n", .expected = "unknown"},
      {.name = "a port, by the line without",
       .user = "node1 {ed25519}\n",
       .port = 2222,
       .expected = "accepted"},
      {.name = "a port, other key without",
       .user = "node1 {other}\n",
       .port = 2222,
       .expected = "unknown"},
      {.name = "several keys, the second is right",
       .user = "node1 {other}\nnode1 {ed25519}\n",
       .expected = "accepted"},
      {.name = "the known type is asked for", .user = "node1 {rsa}\n", .expected = "accepted"},
      {.name = "two known types", .user = "node1 {rsa}\nnode1 {ecdsa}\n", .expected = "accepted"},
      {.name = "only another type is known",
       .user = "node1 {rsa}\n",
       .shows = {"ed25519"},
       .expected = "changed"},
  };
  for (const Fixture& fixture : fixtures)
    check_agreement(fixture, sshd);
}

TEST_CASE("the verdict is a real ssh's: changed and revoked keys") {
  if (cannot_run()) return;
  using enum HostKeyChecking;
  const RealSshd sshd;
  const Fixture fixtures[] = {
      {.name = "changed", .user = "x {ed25519}\n\nnode1 {other}\n", .expected = "changed"},
      {.name = "changed, accept-new",
       .user = "node1 {other}\n",
       .checking = accept_new,
       .expected = "changed"},
      {.name = "changed, no", .user = "node1 {other}\n", .checking = no, .expected = "accepted"},
      {.name = "revoked", .user = "node1 {ed25519}\n@revoked * {ed25519}\n", .expected = "revoked"},
      {.name = "revoked for another",
       .user = "@revoked node2 {ed25519}\nnode1 {ed25519}\n",
       .expected = "accepted"},
      {.name = "another key revoked",
       .user = "@revoked node1 {other}\nnode1 {ed25519}\n",
       .expected = "accepted"},
      {.name = "revoked, accept-new",
       .user = "@revoked node1 {ed25519}\n",
       .checking = accept_new,
       .expected = "revoked"},
      {.name = "revoked, no",
       .user = "@revoked node1 {ed25519}\n",
       .checking = no,
       .expected = "accepted"},
      {.name = "revoked by the system",
       .user = "node1 {ed25519}\n",
       .global = "@revoked * {ed25519}\n",
       .expected = "revoked"},
      {.name = "authority of no certificate",
       .user = "@cert-authority * {ed25519}\n",
       .expected = "unknown"},
  };
  for (const Fixture& fixture : fixtures)
    check_agreement(fixture, sshd);
}

TEST_CASE("the verdict is a real ssh's: patterns, aliases and odd lines") {
  if (cannot_run()) return;
  const RealSshd sshd;
  const Fixture fixtures[] = {
      {.name = "wildcard", .user = "no*,n?de* {ed25519}\n", .expected = "accepted"},
      {.name = "negated", .user = "*,!node1 {ed25519}\n", .expected = "unknown"},
      {.name = "another negated", .user = "*,!node2 {ed25519}\n", .expected = "accepted"},
      {.name = "alias",
       .user = "node1 {other}\nmyalias {ed25519}\n",
       .port = 2222,
       .alias = "MyAlias",
       .expected = "accepted"},
      {.name = "alias without its line",
       .user = "node1 {ed25519}\n[node1]:2222 {ed25519}\n",
       .port = 2222,
       .alias = "other",
       .expected = "unknown"},
      {.name = "mixed case", .user = "NoDe1 {ed25519}\n", .host = "nOdE1", .expected = "accepted"},
      {.name = "in a list with spaces and a comment",
       .user = "  a,node1,b\t \t{ed25519} # comment\r\n",
       .expected = "accepted"},
      {.name = "an address",
       .user = "10.0.0.7 {ed25519}\n",
       .host = "10.0.0.7",
       .expected = "accepted"},
      {.name = "an IPv6 address and a port",
       .user = "[fe80::7]:2222 {ed25519}\n",
       .host = "fe80::7",
       .port = 2222,
       .expected = "accepted"},
      {.name = "garbage around",
       .user =
           "node1\nnode1 ssh-ed25519\nnode1 ssh-ed25519 AAAA\n|1|x|y {ed25519}\n@odd node1 "
           "{other}\n@revoked @revoked node1 {other}\n\xff\xfe\nnode1 ssh-rsa {ed25519}\n1024 35 "
           "12\n#node1 {other}\nnode1 {ed25519}",
       .expected = "accepted"},
      {.name = "in the system's file",
       .user = "",
       .global = "node1 {ed25519}\n",
       .expected = "accepted"},
      {.name = "known to the user, another to the system",
       .user = "node1 {ed25519}\n",
       .global = "node1 {other}\n",
       .expected = "accepted"},
      {.name = "unknown", .user = "node2 {ed25519}\n", .expected = "unknown"},
  };
  for (const Fixture& fixture : fixtures)
    check_agreement(fixture, sshd);
}

TEST_CASE("under accept-new and no an unknown key is accepted, and the line written is ssh's") {
  if (cannot_run()) return;
  using enum HostKeyChecking;
  const RealSshd sshd;
  for (const HostKeyChecking checking : {accept_new, no}) {
    for (const int port : {22, 2222}) {
      check_agreement({.name = "unknown, then written",
                       .user = "",
                       .host = "Node1",
                       .port = port,
                       .checking = checking,
                       .expected = "recorded"},
                      sshd);
      const std::string name = port == 22 ? "Node1" : "[Node1]:2222";
      CHECK(sshd.folder().read("user") ==
            known_hosts_line(name, sshd.key("ed25519"), std::nullopt));
    }
  }
}

TEST_CASE("a hashed name is written as ssh writes it") {
  if (cannot_run()) return;
  const RealSshd sshd;
  const Fixture fixture = {.name = "hashed",
                           .user = "",
                           .host = "Node1",
                           .port = 2222,
                           .checking = HostKeyChecking::accept_new};
  lay_out(fixture, sshd);
  CHECK(ask_ssh(fixture, sshd, {"HashKnownHosts=yes"}).outcome == "recorded");
  CHECK(known_host(fixture, sshd).verdict(sshd.key("ed25519")).kind == HostKeyVerdict::Kind::known);
  // The reverse: ssh reads dtrain's line.
  sshd.folder().write("user", hashed("[Node1]:2222", sshd, "ed25519"));
  CHECK(ask_ssh(fixture, sshd).outcome == "accepted");
}

TEST_CASE("a host with a certificate is left to OpenSSH, which trusts its authority") {
  if (cannot_run()) return;
  const RealSshd sshd;
  Fixture fixture = {.name = "authority",
                     .user = "@cert-authority node* {ca}\n",
                     .shows = {"ed25519", "certificate"}};
  lay_out(fixture, sshd);
  CHECK(ask_ssh(fixture, sshd).outcome == "accepted");
  CHECK(known_host(fixture, sshd).needs_openssh() == sshd.path("user") + ":1: @cert-authority");
  CHECK(known_host(fixture, sshd).verdict(sshd.key("ed25519")).kind ==
        HostKeyVerdict::Kind::unknown);
  // Without the authority's line, the certificate is as good as the plain key in it.
  fixture.user = "node1 {ed25519}\n";
  fixture.expected = "accepted";
  lay_out(fixture, sshd);
  CHECK(ask_ssh(fixture, sshd).outcome == "accepted");
  CHECK(known_host(fixture, sshd).needs_openssh().empty());
}

}  // namespace
}  // namespace dt
