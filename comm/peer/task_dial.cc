#include "comm/peer/task_dial.h"

#include "base/running_time_clock.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/peer/server_dial.h"

#include <optional>
#include <utility>

namespace dt {

namespace {

Result<PeerEndpoint> await_endpoint(PsDirectory& directory, const TaskDial& dial, Time deadline) {
  const auto ask = [&directory](const Request& request, Time reply_deadline) {
    return directory.ask(request, reply_deadline);
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

Result<std::unique_ptr<MessageConnection>> dial_task(PsDirectory& directory, const TaskDial& dial,
                                                     Time deadline) {
  const PsDialler dialler{.claim = dial.claim,
                          .agent = directory.self().agent,
                          .dead_after = dial.dead_after,
                          .message_bytes_max = dial.message_bytes_max};
  Deadline until(deadline);
  while (true) {
    const PeerEndpoint endpoint = TRY(await_endpoint(directory, dial, deadline));
    auto dialled = dial_server(dialler, dial.peer, endpoint, deadline);
    if (dialled) return dialled;
    if (dialled.error().code == Errc::refused || until.passed())
      return tl::unexpected(std::move(dialled).error());
  }
}

}  // namespace dt
