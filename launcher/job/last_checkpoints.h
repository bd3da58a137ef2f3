#pragma once

#include "launcher/plan/plan.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"
#include "rendezvous/store/server.h"

namespace dt {

/// True while a parameter server writes its last checkpoint.
bool any_writes_checkpoint(const RendezvousServer& rendezvous, const Plan& plan);

/// A job that ended well has failed if a parameter server has not written its last checkpoint. That
/// server has not completed.
void count_missing_checkpoints(const RendezvousServer& rendezvous, JobRecord& record,
                               Outcome& outcome);

}  // namespace dt
