#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// The implementation of SSH that may reach hosts (--ssh).
enum class SshImplementation : uint8_t {
  automatic,  ///< libssh2 where it supports the configuration, else the OpenSSH client
  libssh2,
  openssh
};

/// How one host is reached.
struct SshRoute {
  enum class By : uint8_t {
    libssh2,
    openssh,
    openssh_plain,  ///< the client, with its own choice of key exchange
    program         ///< the one of --rsh-agent
  };
  By by = By::libssh2;
  std::string why;
  bool operator==(const SshRoute&) const = default;
};

/// The facts that decide the route; each text is empty or a reason for the OpenSSH client.
struct SshRouteFacts {
  SshImplementation asked = SshImplementation::automatic;
  std::string library;            ///< "libssh2 1.10.0"
  std::string library_missing;    ///< why this build has none
  std::string configuration;      ///< "/home/me/.ssh/config:12: proxyjump"
  std::string known_hosts;        ///< "/home/me/.ssh/known_hosts:3: @revoked"
  std::string credentials;        ///< "no key, but a Kerberos ticket"
  bool own_key_exchange = false;  ///< the configuration chooses the key exchange
};

/// Fails with Errc::unsupported when --ssh libssh2 is given and libssh2 cannot reach the host.
Result<SshRoute> choose_ssh_route(const SshRouteFacts& facts);

/// The end of a try, with the facts that decide the next one.
struct SshTryEnd {
  SshRoute::By by = SshRoute::By::libssh2;
  bool again = false;      ///< the same route may succeed a little later
  bool elsewhere = false;  ///< another route may succeed
  std::string why = {};
};
/// Returns the route of the next try; none after the last one. If it is the same route as before,
/// the caller waits a little first.
std::optional<SshRoute> next_ssh_try(const SshRouteFacts& facts, const SshTryEnd& end);

}  // namespace dt
