#pragma once

#include "base/result.h"
#include "launcher/network/dial_order.h"
#include "rendezvous/secure/dial.h"

#include <string>

namespace dt {

/// Connects the agent of this host to its launcher; blocks for order.patience at most. Tries the
/// addresses as RFC 8305 does: the next one begins when the one before has failed, or after 250 ms.
/// Each is tried again, with jitter. The first that proves the token wins. A launcher listens
/// before its agents start: it has ended if all addresses refuse connections, time after time. An
/// address that nothing answers for 5 s does not keep the agent, unless all others are its own.
///
/// `host` is a name of order.hosts, or Errc::input. Fails with Errc::refused when the launcher
/// refuses the agent, and with Errc::unreachable, and the reason of each address, when none
/// answers.
Result<Dialed> dial_launcher(const DialOrder& order, const std::string& host);

}  // namespace dt
