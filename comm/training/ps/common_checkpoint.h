#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/store/client.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// Returns the newest step of which every server has a file; none when no server has any. Each
/// server publishes the steps of its own files, so that all choose the same. Fails with Errc::input
/// when there are files, but of no common step.
Result<std::optional<uint64_t>> common_checkpoint(RendezvousClient& client,
                                                  const std::vector<uint64_t>& own,
                                                  uint32_t servers, Time deadline);

}  // namespace dt
