#pragma once

#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

namespace dt {

// What Horovod's workers read when their controller is gloo.

/// The place of a task that has a rank.
void add_horovod_ranks(Environment& environment, const Plan& plan, const Task& task);
/// For all tasks of a job whose rendezvous answers them. They speak by the loopback where rank 0 is
/// reached by it: then all are on this machine.
void add_horovod_controller(Environment& common, const std::string& master_address);
/// Where they meet: where this task's DTRAIN_RENDEZVOUS says, which its agent may have changed.
/// Only with add_horovod_controller, and for a task that has a rank: another one would claim to be
/// rank 0 there. Without an address Horovod runs alone.
void add_horovod_rendezvous(Environment& added);
/// By which interface their peers reach them; nothing when it is unknown (empty). Without any,
/// Horovod asks what the host's name resolves to.
void add_horovod_interface(Environment& defaults, const Environment& added,
                           const std::string& interface);

}  // namespace dt
