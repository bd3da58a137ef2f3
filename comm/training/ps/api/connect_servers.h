#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/api/init_options.h"
#include "comm/include/dtrain/dtrain_ps.h"
#include "comm/peer/rendezvous_view.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <memory>

namespace dt {

class Context;
class PsClient;

/// This task's connection to the rendezvous, and its claim towards other tasks.
struct JoinedTask {
  std::unique_ptr<RendezvousClient> rendezvous;
  Claim claim;
  uint16_t held_port = 0;
  Duration dead_after = seconds(5);
};
/// Connects this task to the rendezvous. `function` and the options that start such a job are for
/// the message to a process without a job.
Result<JoinedTask> join_task(const dtrain_init_options* identity, const char* function,
                             const char* roles);
JoinedTask joined_task(const InitOptions& options, std::unique_ptr<RendezvousClient> rendezvous);

/// As dtrain_ps_connect, for a task that is connected to the rendezvous already. `options` has
/// neither an identity nor a context.
Result<std::unique_ptr<PsClient>> connect_servers(const dtrain_ps_options& options,
                                                  JoinedTask joined);
/// The same through the context of all ranks, in a job.
Result<std::unique_ptr<PsClient>> connect_servers(const dtrain_ps_options& options,
                                                  std::shared_ptr<Context> job);
/// Ends the use of the servers, as dtrain_ps_close does.
void leave_servers(PsClient& client);

/// The connection to the rendezvous that parameter servers' clients use, for another thread.
struct SharedTask {
  std::unique_ptr<RendezvousView> rendezvous;
  Claim claim;
  uint16_t held_port = 0;
  Duration dead_after = seconds(5);
};
/// Fails with Errc::input for a null handle and in a fork.
Result<SharedTask> share_task(dtrain_ps* ps);

}  // namespace dt
