#include "comm/training/ps/last_checkpoint.h"

#include "base/bytes.h"
#include "comm/peer/rendezvous_wait.h"
#include "rendezvous/cluster/last_checkpoint.h"

#include <string>

namespace dt {

namespace {

/// A file is worth more than the launcher's knowledge of it.
constexpr Duration announcement_max = seconds(5);

}  // namespace

Result<> announce_last_checkpoint(RendezvousClient& client, Time deadline) {
  return client.set(last_checkpoint_key(client.self().id), as_bytes(checkpoint_awaited), deadline);
}

Result<> write_last_checkpoint(RendezvousClient& client, const TaskId& server, ServedPart& part) {
  if (!part.keeps_files()) return {};
  const std::string key = last_checkpoint_key(server);
  static_cast<void>(
      client.set(key, as_bytes(checkpoint_being_written), Clock::now() + announcement_max));
  TRY(part.end());
  static_cast<void>(ask_rendezvous(client, EraseRequest{key}, Clock::now() + announcement_max));
  return {};
}

}  // namespace dt
