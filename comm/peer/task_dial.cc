#include "comm/peer/task_dial.h"

#include "base/running_time_clock.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/peer/server_dial.h"

#include <optional>
#include <utility>

namespace dt {

namespace {

Result<PeerEndpoint> await_endpoint(RendezvousView& rendezvous, const TaskDial& dial,
                                    Time deadline) {
  const auto ask = [&rendezvous](const Request& request, Time reply_deadline) {
    return rendezvous.ask(request, reply_deadline);
  };
  Deadline until(deadline);
  while (true) {
    TRY(dial.check());
    const std::optional<Bytes> value = TRY(ask_for_key(ask, dial.key, deadline));
    if (value) return PeerEndpoint::decode(*value);
    if (until.passed()) return fail(Errc::timeout, dial.absent);
  }
}

}  // namespace

Result<std::unique_ptr<MessageConnection>> dial_task(RendezvousView& rendezvous,
                                                     const TaskDial& dial, Time deadline) {
  const PsDialer dialer{.claim = dial.claim,
                        .agent = rendezvous.self().agent,
                        .dead_after = dial.dead_after,
                        .message_bytes_max = dial.message_bytes_max};
  Deadline until(deadline);
  while (true) {
    const PeerEndpoint endpoint = TRY(await_endpoint(rendezvous, dial, deadline));
    auto dialed = dial_server(dialer, dial.peer, endpoint, deadline);
    if (dialed) return dialed;
    if (dialed.error().code == Errc::refused || until.passed())
      return tl::unexpected(std::move(dialed).error());
  }
}

}  // namespace dt
