#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstdint>
#include <string_view>

namespace dt {

/// How far a connection has come.
enum class SshPhase : uint8_t {
  connecting,
  banner,
  key_exchange,
  host_key,
  login,
  channel,  ///< the client requests the session's channel and its command
  open,     ///< the command runs
};
std::string_view phase_text(SshPhase phase);

/// Why a connection failed, or ended too early. Callers decide by `phase` and `error.code`.
/// `unreachable`: no address answers. `not_found`: the name does not exist.
/// `closed`: the server closed the connection. `timeout`: the deadline passed.
/// `refused`: no process listens at the port, or the server refuses the login or the session. It is
/// also the code of a host key that is not accepted.
/// `unsupported`: libssh2 cannot do it, the OpenSSH client perhaps can.
/// `protocol`: the answer does not come from a proper SSH server.
/// The message does not name the host.
struct SshFailure {
  SshPhase phase = SshPhase::connecting;
  Error error;
};

/// True when the same attempt may succeed a little later. Examples: sshd does not listen yet, or
/// the resolver is slow. A server at its limit (MaxStartups) closes connections before its banner.
/// False for a refused login: servers block addresses that repeat those.
bool worth_retrying(const SshFailure& failure);

/// Returns the delay before attempt number `attempt` (the first retry is 1). It doubles from 100 ms
/// to 2 s. A factor that depends on the seed keeps hosts from retrying all at once. The same seed
/// gives the same delays.
Duration retry_delay(int attempt, uint64_t seed);

}  // namespace dt
