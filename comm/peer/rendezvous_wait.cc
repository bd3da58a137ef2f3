#include "comm/peer/rendezvous_wait.h"

#include "rendezvous/secure/dial.h"

#include <poll.h>

#include <algorithm>

namespace dt {

namespace {
constexpr Duration pump_again_after = milliseconds(50);
/// How long a wait for a key takes at most, and its reply after that.
constexpr Duration wait_max = milliseconds(500);
constexpr Duration reply_max = seconds(10);
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

Result<std::optional<Bytes>> ask_for_key(const RendezvousCall& call, const std::string& key,
                                         Time deadline) {
  const Duration wait = std::clamp<Duration>(deadline - Clock::now(), Duration::zero(), wait_max);
  const Reply reply = TRY(call(CollectRequest{key, 1, wait}, Clock::now() + wait + reply_max));
  std::vector<StoreEntry> entries = TRY(decode_entries(reply.value.value_or(Bytes())));
  if (entries.empty()) return std::optional<Bytes>();
  return std::optional(std::move(entries.front().value));
}

}  // namespace dt
