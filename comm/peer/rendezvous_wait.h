#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/wire.h"

#include <functional>
#include <optional>
#include <string>

namespace dt {

/// Sends a request to the rendezvous and waits for its reply. Notices stay with the client. Fails
/// with Errc::timeout at the deadline, and with the error of the reply.
Result<Reply> ask_rendezvous(RendezvousClient& client, const Request& request, Time deadline);

/// Any way to send a request to the rendezvous and to wait for its reply.
using RendezvousCall = std::function<Result<Reply>(const Request& request, Time deadline)>;

/// Returns the value of a key; none when no task has set it after a short wait. The caller repeats
/// this, and reads notices between. Requires a key that is the prefix of no other one.
Result<std::optional<Bytes>> ask_for_key(const RendezvousCall& call, const std::string& key,
                                         Time deadline);

}  // namespace dt
