#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the newest step of which every server has a file; none when no server has any. Each
/// server publishes the steps of its own files, so that all choose the same. Fails with Errc::input
/// when there are files, but of no common step.
Result<std::optional<uint64_t>> common_checkpoint(RendezvousClient& client,
                                                  const std::vector<uint64_t>& own,
                                                  uint32_t servers, Time deadline);
/// Fails with Errc::mismatch when there are files of another number of servers. Called where this
/// number has none: a new start would leave the others behind.
Result<> refuse_other_servers(const std::string& path, const std::string& role, uint32_t servers);

}  // namespace dt
