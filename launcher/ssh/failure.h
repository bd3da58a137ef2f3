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
  channel,  ///< the session's channel and its command are asked for
  open,     ///< the command runs
};
std::string_view phase_text(SshPhase phase);

/// Why a connection came to nothing, or ended too early. `error.code` is for deciding, within its
/// phase: `unreachable` no address answers; `not_found` there is no such name; `closed` the other
/// side hung up; `timeout`; `refused`
/// the host key, the login or the session is not to be had; `unsupported` libssh2 cannot do what is
/// needed, the OpenSSH client may; `protocol` what answers is no proper SSH server. The message
/// does not name the host.
struct SshFailure {
  SshPhase phase = SshPhase::connecting;
  Error error;
};

/// Whether the same attempt a little later may well succeed: nobody listens yet, the resolver is
/// slow, or a server with
/// too many connections at once (MaxStartups) hangs up before it has said who it is. Never a login
/// that was refused: servers bar addresses that insist.
bool worth_retrying(const SshFailure& failure);

/// How long to wait before attempt number `attempt` (the first retry is 1): doubles from 100 ms to
/// 2 s, and each host takes another share of it, so that those that were dropped together do not
/// come back together. The same seed gives the same delays.
Duration retry_delay(int attempt, uint64_t seed);

}  // namespace dt
