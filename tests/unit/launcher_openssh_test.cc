#include "launcher/ssh/openssh.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("the client asks nothing, forwards nothing, and gets what the command line says") {
  CHECK(ssh_words({.host = "node1"}, {}, "run it") ==
        Words{"ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--",
              "node1", "run it"});
  CHECK(ssh_words({.host = "fd77::1",
                   .user = "me",
                   .port = 2222,
                   .identity_files = {"my key"},
                   .config_file = "cfg"},
                  {.connect_timeout = milliseconds(1200)}, "run it") ==
        Words{"ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "-F", "cfg",
              "-p", "2222", "-i", "my key", "--", "me@fd77::1", "run it"});
}

TEST_CASE("the key exchange that costs least comes first where that is wanted") {
  const Words words = ssh_words({.host = "node1"}, {.curve25519_first = true}, "run it");
  CHECK(std::ranges::count(words,
                           "KexAlgorithms=^curve25519-sha256,curve25519-sha256@libssh.org") == 1);
}

TEST_CASE("a program like rsh gets its own words, a user if one is named, host and shell") {
  CHECK(rsh_words({"kubexec.sh"}, {.host = "pod-1"}) == Words{"kubexec.sh", "pod-1", "/bin/sh"});
  CHECK(rsh_words({"qrsh", "-inherit"}, {.host = "n", .user = "me"}) ==
        Words{"qrsh", "-inherit", "-l", "me", "n", "/bin/sh"});
}

TEST_CASE("what the client says becomes what it means and what to do") {
  struct Case {
    std::string said;
    std::string text;
    bool again = false;
    bool too_old = false;
  };
  const std::string row(58, '@');
  const std::vector<Case> cases = {
      {"me@n: Permission denied (publickey).\r\n",
       "login refused; to allow your key: ssh-copy-id me@n (me@n: Permission denied (publickey).)"},
      {row + "\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n" + row +
           "\nHost key verification failed.\n",
       "its host key has changed; if that is right: ssh-keygen -R n, then ssh me@n once "
       "(@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @)"},
      {"Host key verification failed.\n",
       "its host key is not known; to look at it and keep it: ssh me@n "
       "(Host key verification failed.)"},
      {"ssh: Could not resolve hostname n: Name or service not known\n",
       "ssh: Could not resolve hostname n: Name or service not known"},
      {"ssh: connect to host n port 22: Connection refused\n",
       "is sshd running there? (ssh: connect to host n port 22: Connection refused)", true},
      {"kex_exchange_identification: Connection closed by remote host\n",
       "kex_exchange_identification: Connection closed by remote host", true},
      {"command-line line 0: Bad SSH2 KexAlgorithms '^curve25519-sha256'.\n",
       "command-line line 0: Bad SSH2 KexAlgorithms '^curve25519-sha256'.", false, true},
      {"something new\n", "something new (exit status 255)"},
      {"", "exit status 255"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.said);
    CHECK(client_failure({.host = "n", .user = "me"}, c.said, "exit status 255") ==
          ClientFailure{.text = c.text, .again = c.again, .too_old = c.too_old});
  }
}

}  // namespace
}  // namespace dt
