#pragma once

#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"

namespace dt {

// Variables for Horovod's workers when their controller is gloo.

/// Adds the ranks and sizes of a task. Requires that it has a rank.
void add_horovod_ranks(Environment& environment, const Plan& plan, const Task& task);
/// Adds the controller, for all tasks of a job whose rendezvous serves Horovod. If rank 0 has a
/// loopback address, all tasks are on this machine. They then use the loopback interface.
void add_horovod_controller(Environment& common, const std::string& master_address);
/// Adds the rendezvous' address from this task's DTRAIN_RENDEZVOUS, which its agent may have
/// changed (relay). Adds nothing without add_horovod_controller. Nor for a task without rank: it
/// would claim to be rank 0 there. Without an address Horovod runs as a single process.
void add_horovod_rendezvous(Environment& added);
/// Adds the interface by which peers reach the task, unless it is unknown (empty). Without it
/// Horovod uses the address to which the host's name resolves.
void add_horovod_interface(Environment& defaults, const Environment& added,
                           const std::string& interface);

}  // namespace dt
