#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "comm/peer/message_connection.h"
#include "comm/transport/peer_endpoint.h"
#include "comm/transport/peer_handshake.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <cstddef>
#include <memory>
#include <string>

namespace dt {

/// "ps:0 on host".
std::string describe_task(const TaskEntry& task);

/// The task that dials a parameter server, or another task that publishes its endpoint.
struct PsDialer {
  Claim claim;
  int agent = 0;      ///< of this task's host
  int doorbell = -1;  ///< of this task, for shared memory with servers of its host; -1: TCP only
  Duration dead_after = seconds(5);
  size_t message_bytes_max = 0;  ///< a longer message is received without its body
};

/// Tries shared memory first, if both tasks can use it, then each address of the server once. Fails
/// with Errc::refused when the server refuses this task, which is final, and with another error
/// when no address answers.
Result<std::unique_ptr<MessageConnection>> dial_server(const PsDialer& dialer,
                                                       const TaskEntry& server,
                                                       const PeerEndpoint& endpoint, Time deadline);

/// Accepts a task of this host that dials by shared memory. `doorbell` is that of this task.
Result<> accept_on_host(PeerHandshake& handshake, const Fd& doorbell);
/// Makes the other end of dial_server(), once the handshake is complete. Fails with Errc::protocol
/// when a task of this host passes memory of another form than expected.
Result<std::unique_ptr<MessageConnection>> accepted_connection(AuthenticatedConnection connection,
                                                               MessageConnection::Options options);

}  // namespace dt
