#include "launcher/check/login.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the key of a login is read from what the client says of it") {
  struct Case {
    std::string_view said;
    std::string_view key;
  };
  constexpr Case cases[] = {
      {"", ""},
      {"debug1: Offering public key: /k ED25519 SHA256:x\n", ""},
      {"debug1: Server accepts key: /home/me/.ssh/id_rsa RSA SHA256:abc\r\n"
       "Authenticated to node1 ([10.0.0.1]:22) using \"publickey\".\r\n",
       "key /home/me/.ssh/id_rsa (RSA)"},
      {"debug1: Server accepts key: me@laptop with blanks ED25519 SHA256:abc agent\n",
       "key me@laptop with blanks (ED25519) from ssh-agent"},
      {"debug1: Server accepts key: /k ED25519-CERT SHA256:abc explicit\n",
       "certificate /k (ED25519-CERT)"},
      {"debug1: Server accepts key: /first RSA SHA256:a\n"
       "debug1: Server accepts key: /second ED25519 SHA256:b\n",
       "key /second (ED25519)"},
      {"Authenticated to node1 ([10.0.0.1]:22) using \"gssapi-with-mic\".\n",
       "login by gssapi-with-mic"},
      {"debug1: mux_client_request_session: master session id: 2\n", "a connection that is shared"},
      {"debug1: Server accepts key: SHA256:\n", ""},
      {"debug1: Server accepts key: \x1b[31m X SHA256:\n", "key \\x1B[31m (X)"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.said);
    CHECK(key_of_client(one.said) == one.key);
  }
}

TEST_CASE("a login is told with the client, the key and the time") {
  const Connection connection = {
      .said = "Server accepts key: /k RSA SHA256:x\n", .pushed = false, .took = milliseconds(120)};
  CHECK(login_text({.name = "node1"}, connection) == "the OpenSSH client, key /k (RSA), 120 ms");
  CHECK(login_text({.name = "localhost", .here = true}, {}) == "this machine, without ssh");
}

}  // namespace
}  // namespace dt
