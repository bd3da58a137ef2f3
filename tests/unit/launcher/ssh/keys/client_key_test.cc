#include "launcher/ssh/keys/client_key.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the key of a login is read from the log of the client") {
  struct Case {
    std::string_view log;
    std::string_view key;
  };
  constexpr Case cases[] = {
      {"", ""},
      {"debug1: Offering public key: /k ED25519 SHA256:x\n", ""},
      {"debug1: Server accepts key: /home/me/.ssh/id_rsa RSA SHA256:abc\r\n"
       "Authenticated to node1 ([10.0.0.1]:22) using \"publickey\".\r\n",
       "rsa from /home/me/.ssh/id_rsa"},
      {"debug1: Server accepts key: me@laptop with blanks ED25519 SHA256:abc agent\n",
       "ed25519 from me@laptop with blanks in ssh-agent"},
      {"debug1: Server accepts key: /k ED25519-CERT SHA256:abc explicit\n", "ed25519-cert from /k"},
      {"debug1: Server accepts key: /first RSA SHA256:a\n"
       "debug1: Server accepts key: /second ED25519 SHA256:b\n",
       "ed25519 from /second"},
      {"Authenticated to node1 ([10.0.0.1]:22) using \"gssapi-with-mic\".\n",
       "none, but gssapi-with-mic"},
      {"debug1: mux_client_request_session: master session id: 2\n",
       "of a connection that is shared"},
      {"debug1: Server accepts key: SHA256:\n", ""},
      {"debug1: Server accepts key: \x1b[31m X SHA256:\n", "x from \\x1B[31m"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.log);
    CHECK(key_of_client(one.log) == one.key);
  }
}

}  // namespace
}  // namespace dt
