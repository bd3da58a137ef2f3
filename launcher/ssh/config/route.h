#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// Who may carry the bytes to hosts (--ssh).
enum class SshCarrier : uint8_t {
  automatic,  ///< libssh2 where it can do what is asked, else the OpenSSH client
  libssh2,
  openssh
};

/// How one host is reached.
struct SshRoute {
  enum class By : uint8_t {
    libssh2,
    openssh,
    openssh_plain,  ///< choosing how it exchanges keys by itself
    program         ///< of --rsh-agent
  };
  By by = By::libssh2;
  std::string why;
  bool operator==(const SshRoute&) const = default;
};

/// What decides it; each text is empty or a reason for the OpenSSH client.
struct SshRouteFacts {
  SshCarrier asked = SshCarrier::automatic;
  std::string library;            ///< "libssh2 1.10.0"
  std::string library_missing;    ///< why this build has none
  std::string configuration;      ///< "/home/me/.ssh/config:12: proxyjump"
  std::string known_hosts;        ///< "/home/me/.ssh/known_hosts:3: @revoked"
  std::string credentials;        ///< nothing but what only that client can use
  bool own_key_exchange = false;  ///< the configuration says how keys are exchanged
};

/// Errc::unsupported where libssh2 was asked for and cannot.
Result<SshRoute> choose_ssh_route(const SshRouteFacts& facts);

/// How a try ended, as far as it decides what comes next.
struct SshTryEnd {
  SshRoute::By by = SshRoute::By::libssh2;
  bool again = false;      ///< the same may go well a little later
  bool elsewhere = false;  ///< another way of doing it may do what this one could not
  std::string why = {};
};
/// None: it was the last try. The same route as before: after a pause.
std::optional<SshRoute> next_ssh_try(const SshRouteFacts& facts, const SshTryEnd& end);

}  // namespace dt
