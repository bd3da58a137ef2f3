#include "comm/ps/rendezvous_wait.h"

#include "rendezvous/secure/dial.h"

#include <poll.h>

namespace dt {

Result<Reply> ask_rendezvous(RendezvousClient& client, const Request& request, Time deadline) {
  const uint32_t id = TRY(client.post(request, Clock::now()));
  Deadline until(deadline);
  while (true) {
    TRY(client.pump());
    if (std::optional<Reply> reply = client.take_reply(id)) {
      if (reply->error) return tl::unexpected(*std::move(reply->error));
      return *std::move(reply);
    }
    if (TRY(await_readiness(client.fd(), POLLIN, until))) continue;
    client.forget(id);
    return fail(Errc::timeout, "the rendezvous does not answer");
  }
}

}  // namespace dt
