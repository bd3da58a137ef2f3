#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/peer/rendezvous_view.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace dt {

/// How a task connects to another one, which publishes its PeerEndpoint at the rendezvous.
struct TaskDial {
  Claim claim;
  TaskEntry peer;
  std::string key;     ///< of the endpoint; the prefix of no other one
  std::string absent;  ///< the error if the peer has not published it in time
  size_t message_bytes_max = 0;
  Duration dead_after = seconds(5);
  std::function<Result<>()> check;  ///< reads the rendezvous's news; its failure ends the wait
};

/// Waits for the endpoint and dials it. Blocks until the deadline at most. Fails with Errc::timeout
/// then, with Errc::refused if the peer refuses, and with the failure of `check`.
Result<std::unique_ptr<MessageConnection>> dial_task(RendezvousView& rendezvous,
                                                     const TaskDial& dial, Time deadline);

}  // namespace dt
