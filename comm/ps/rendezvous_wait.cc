#include "comm/ps/rendezvous_wait.h"

#include "rendezvous/secure/dial.h"

#include <poll.h>

#include <algorithm>

namespace dt {

namespace {
constexpr Duration pump_again_after = milliseconds(50);
}  // namespace

Result<Reply> ask_rendezvous(RendezvousClient& client, const Request& request, Time deadline) {
  const uint32_t id = TRY(client.post(request, Clock::now()));
  Deadline until(deadline);
  while (true) {
    TRY(client.pump());
    if (std::optional<Reply> reply = client.take_reply(id)) {
      if (reply->error) return tl::unexpected(*std::move(reply->error));
      return *std::move(reply);
    }
    if (until.passed()) {
      client.forget(id);
      return fail(Errc::timeout, "the rendezvous does not answer");
    }
    // A request may wait for room in the socket, which only another pump() finds.
    TRY(await_readiness(client.fd(), POLLIN, std::min(deadline, Clock::now() + pump_again_after)));
  }
}

}  // namespace dt
