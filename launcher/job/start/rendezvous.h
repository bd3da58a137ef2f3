#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/job/start/reach.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/address_set.h"
#include "rendezvous/store/server.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The generation of a job that has not started again.
constexpr uint32_t first_generation = 1;

/// The tasks as the rendezvous sends them to each other, at the addresses that find_reach() chose.
TaskTable task_table(const Plan& plan, std::string job, const Reach& reach,
                     uint32_t generation = first_generation);

/// Holds the first free port of --port-range, before agents of this machine take theirs; none
/// without --port-range. Fails with Errc::refused when all ports are busy.
Result<std::optional<HeldPort>> hold_rendezvous_port(const RunConfig& config);

/// The addresses from which the rendezvous answers Horovod's workers, which cannot prove the token.
/// None when the user does not want that, and in a part of a job: its tasks get no rendezvous.
std::optional<AddressSet> horovod_sources(const RunConfig& config, const Plan& plan,
                                          const Reach& reach, const std::vector<Hello>& hellos);

/// Starts to listen. Fails with Errc::refused when the rendezvous cannot.
Result<std::unique_ptr<RendezvousServer>> open_rendezvous(Loop& loop,
                                                          RendezvousServer::Options options,
                                                          Log& log);

}  // namespace dt
