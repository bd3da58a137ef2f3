#include "launcher/ssh/openssh.h"

#include "base/format.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("the client asks nothing, forwards nothing, and gets the options of the command line") {
  CHECK(ssh_command({.host = "node1"}, {}, "run it") ==
        Words{"ssh", "-v", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
              "ClearAllForwardings=yes", "--", "node1", "run it"});
  CHECK(ssh_command({.host = "fd77::1",
                     .user = "me",
                     .port = 2222,
                     .identity_files = {"my key"},
                     .config_file = "cfg"},
                    {.connect_timeout = milliseconds(1200)},
                    "run it") == Words{"ssh",
                                       "-v",
                                       "-T",
                                       "-a",
                                       "-x",
                                       "-o",
                                       "BatchMode=yes",
                                       "-o",
                                       "ConnectTimeout=2",
                                       "-o",
                                       "ClearAllForwardings=yes",
                                       "-F",
                                       "cfg",
                                       "-p",
                                       "2222",
                                       "-i",
                                       "my key",
                                       "--",
                                       "me@fd77::1",
                                       "run it"});
}

TEST_CASE("directives that change the client's session are undone, where the user has them") {
  const Words words = ssh_command(
      {.host = "node1"}, {.session_changes = {"remotecommand", "sessiontype", "stdinnull"}}, "run");
  for (const char* const undo : {"RemoteCommand=none", "SessionType=default", "StdinNull=no"})
    CHECK(std::ranges::count(words, undo) == 1);
  CHECK(std::ranges::count(words, "ForkAfterAuthentication=no") == 0);
}

TEST_CASE("the key exchange that costs least comes first where that is wanted") {
  const Words words = ssh_command({.host = "node1"}, {.curve25519_first = true}, "run it");
  CHECK(std::ranges::count(words,
                           "KexAlgorithms=^curve25519-sha256,curve25519-sha256@libssh.org") == 1);
}

TEST_CASE("a program like rsh gets its own words, a user if one is named, host and shell") {
  CHECK(rsh_command({"kubexec.sh"}, {.host = "pod-1"}) == Words{"kubexec.sh", "pod-1", "/bin/sh"});
  CHECK(rsh_command({"qrsh", "-inherit"}, {.host = "n", .user = "me"}) ==
        Words{"qrsh", "-inherit", "-l", "me", "n", "/bin/sh"});
}

TEST_CASE("an error of the client is shown with its remedy") {
  struct Case {
    std::string output;
    std::string text;
    bool again = false;
    bool refused = false;
    bool too_old = false;
    bool unknown_name = false;
  };
  const std::vector<Case> cases = {
      {"debug1: Offering public key: /k/id ED25519 SHA256:abc explicit\r\n"
       "debug1: Offering public key: me@desk RSA SHA256:abc agent\r\n"
       "me@n: Permission denied (publickey).\r\n",
       "login refused (tried ed25519 from /k/id, rsa from ssh-agent); try: ssh-copy-id me@n"},
      {"me@n: Permission denied (publickey).\r\n",
       "login refused (no key to try); try: ssh-keygen -t ed25519, then ssh-copy-id me@n"},
      {"No ED25519 host key is known for n and you have requested strict checking.\n"
       "Host key verification failed.\n",
       "Host key verification failed. (exit status 255)"},
      {"ssh: Could not resolve hostname n: Name or service not known\n",
       "ssh: Could not resolve hostname n: Name or service not known", false, false, false, true},
      {"ssh: Could not resolve hostname n: Temporary failure in name resolution\n",
       "ssh: Could not resolve hostname n: Temporary failure in name resolution", true},
      {"debug1: Connecting to n\nssh: connect to host n port 22: Connection refused\n",
       "ssh: connect to host n port 22: Connection refused; is sshd running there?", true, true},
      {"ssh: connect to host n port 22: No route to host\n",
       "ssh: connect to host n port 22: No route to host; is the host up?", true},
      {"ssh: connect to host n port 22: Connection timed out\n",
       "ssh: connect to host n port 22: Connection timed out; is the host up, and its port open?",
       true},
      {"ssh: connect to host n port 22: Network is unreachable\n",
       "ssh: connect to host n port 22: Network is unreachable; is the host up?", true},
      {"jumphost loop via n\r\nkex_exchange_identification: Connection closed by remote host\n",
       "jumphost loop via n; give the jump host a Host block with ProxyJump none"},
      {"kex_exchange_identification: Connection closed by remote host\n",
       "kex_exchange_identification: Connection closed by remote host; the log of its sshd has "
       "the reason (MaxStartups, hosts.deny, …)",
       true},
      {"command-line line 0: Bad SSH2 KexAlgorithms '^curve25519-sha256'.\n",
       "command-line line 0: Bad SSH2 KexAlgorithms '^curve25519-sha256'.", false, false, true},
      {"something new\ndebug1: Exit status 1\n", "something new (exit status 255)"},
      {"OpenSSH_9.2p1\ndebug1: chatter\n", "exit status 255"},
      {"", "exit status 255"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.output);
    CHECK(client_failure({.request = {.host = "n", .user = "me"}}, c.output, "exit status 255") ==
          ClientFailure{.text = c.text,
                        .again = c.again,
                        .refused = c.refused,
                        .unknown_name = c.unknown_name,
                        .too_old = c.too_old});
  }
}

TEST_CASE("the advice for a refused login has the user, the port and the key file") {
  CHECK(copy_id_arguments({.host = "n"}) == "n");
  CHECK(copy_id_arguments({.host = "n", .user = "me"}) == "me@n");
  CHECK(copy_id_arguments({.host = "n", .port = 2222, .identity_files = {"/k/a b"}}) ==
        "-i '/k/a b' -p 2222 n");
}

TEST_CASE("keys that could not be tried are named with what to do") {
  CHECK(client_failure({.request = {.host = "n"}, .key_problems = {"/k/id is encrypted"}},
                       "n: Permission denied (publickey).\n", "")
            .text == "login refused (no key to try); /k/id is encrypted");
}

TEST_CASE("a refused host key is reported with its name and the line that decided") {
  const HostKey key =
      parse_host_key(
          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFgJvrI7X9nnx7/F0MbNEOjz/4ZMfJx+4RpICQX/t26")
          .value();
  const std::string shown = format("debug1: Server host key: ssh-ed25519 {}\r\n", fingerprint(key));
  ClientContext context = {.request = {.host = "n"}, .known = {.name = "n"}};
  const auto text = [&](const std::string& output) {
    return client_failure(context, shown + output, "exit status 255").text;
  };
  const std::string failed = "Host key verification failed.\r\n";
  CHECK(text(failed).starts_with("its host key ssh-ed25519 " + fingerprint(key) +
                                 " is not known: no known_hosts file lists n\n"));
  context.known.keys = {{.key = {"ssh-rsa", {}}, .file = "/kh", .line = 3}};
  CHECK(text(failed).find(" is not the one of /kh:3 (ssh-rsa)\n") != std::string::npos);
  context.known.keys = {
      {.marker = KnownKey::Marker::revoked, .key = key, .file = "/kh", .line = 4}};
  CHECK(text(failed).find(" is revoked by /kh:4\n") != std::string::npos);
  // Only the client knows of RevokedHostKeys and KnownHostsCommand: its own message is shown.
  context.known.keys = {{.key = key, .file = "/kh", .line = 5}};
  CHECK(text("revoked by file /rk\n" + failed) ==
        "Host key verification failed. (exit status 255)");
}

}  // namespace
}  // namespace dt
