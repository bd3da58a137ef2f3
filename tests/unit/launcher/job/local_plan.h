#pragma once

#include "launcher/job/start/reach.h"
#include "launcher/plan/plan.h"

namespace dt {

/// Returns the plan of a job with `count` workers on this machine.
inline Plan plan_of(int count) {
  PlanRequest request;
  request.hosts = {{.name = "here", .slots = count, .here = true}};
  return make_plan(request).value();
}

/// How the one host of such a job is reached.
inline const Reach at_home = {
    .launcher = "127.0.0.1", .hosts = {{.ips = {"127.0.0.1"}, .interface = {}}}, .warnings = {}};

}  // namespace dt
