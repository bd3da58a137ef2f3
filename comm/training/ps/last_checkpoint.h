#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/training/ps/served_part.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/store/client.h"

namespace dt {

/// Lets the launcher know that the server will write a last checkpoint. If none comes, the job has
/// failed.
Result<> announce_last_checkpoint(RendezvousClient& client, Time deadline);
/// Writes the last checkpoint of a part that `server` has by placement, if it keeps any. Meanwhile
/// the launcher does not kill the server.
Result<> write_last_checkpoint(RendezvousClient& client, const TaskId& server, ServedPart& part);

}  // namespace dt
