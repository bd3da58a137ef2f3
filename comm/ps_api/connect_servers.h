#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/dtrain_ps.h"
#include "comm/init_options.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <memory>

namespace dt {

/// This task's connection to the rendezvous, and its claim towards other tasks.
struct JoinedTask {
  std::unique_ptr<RendezvousClient> rendezvous;
  Claim claim;
  uint16_t held_port = 0;
  Duration dead_after = seconds(5);
};
JoinedTask joined_task(const InitOptions& options, std::unique_ptr<RendezvousClient> rendezvous);

/// As dtrain_ps_connect, for a task that is connected to the rendezvous already. `options` has
/// neither an identity nor a context.
Result<dtrain_ps*> connect_servers(const dtrain_ps_options& options, JoinedTask joined);

}  // namespace dt
