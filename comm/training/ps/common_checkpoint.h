#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/training/ps/checkpoint_file.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the newest step of which every part has a file; none when no part has any. Each server
/// publishes the steps of its part's files, so that all choose the same. Fails with Errc::input
/// when there are files, but of no common step.
Result<std::optional<uint64_t>> common_checkpoint(RendezvousClient& client, CheckpointPart part,
                                                  const std::vector<uint64_t>& own, Time deadline);
/// Publishes the steps of a part's files anew. Returns the newest step of which every part has
/// published a file; none when there is none, or when the rendezvous does not answer soon.
std::optional<uint64_t> newest_common_step(RendezvousClient& client, CheckpointPart part,
                                           const std::vector<uint64_t>& own);
/// Fails with Errc::mismatch when there are files of another number of servers. Called where this
/// number has none: a new start would leave the others behind.
Result<> refuse_other_servers(const std::string& path, const std::string& role, uint32_t servers);

}  // namespace dt
