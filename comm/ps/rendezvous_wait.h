#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/wire.h"

namespace dt {

/// Sends a request to the rendezvous and waits for its reply. Notices stay with the client. Fails
/// with Errc::timeout at the deadline, and with the error of the reply.
Result<Reply> ask_rendezvous(RendezvousClient& client, const Request& request, Time deadline);

}  // namespace dt
