#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/job/sync/code_sync.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "launcher/sync/server/sync_events.h"

#include <string>
#include <vector>

namespace dt {

/// Changes the orders of a plan's agents: their tasks start in the trees that the hosts have, and
/// find programs of their setup first. Fails as folder_in_tree().
Result<> place_in_trees(std::vector<Prepare>& orders, const RunConfig& config, const Plan& plan,
                        const CodeSync& code);

void set_stage(std::vector<Prepare>& orders, PrepareStage stage);

/// Replaces the answers of agents whose hosts have no tree, by agent. Empty reasons change nothing.
void add_failures(std::vector<Prepared>& answers, const std::vector<std::string>& why);

}  // namespace dt
