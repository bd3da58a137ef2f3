#pragma once

#include "base/format.h"
#include "base/result.h"
#include "tests/sim/plan.h"

#include <string>

namespace dt {

inline bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// True when the fault can be the reason why this call fails. All others must have a result, also
/// those of the victim in other groups.
inline bool fault_concerns(const SimPlan& plan, const Call& call) {
  const SimGroup& group = plan.groups[call.group];
  const auto takes_part = [&](int job_rank) {
    const int member = group.rank_of(job_rank);
    return member >= 0 && (!call.is_message() || call.from == member || call.to == member);
  };
  switch (plan.fault) {
    case Fault::none:
      return false;
    case Fault::death:
    case Fault::launcher_lost:
      return true;
    case Fault::leave:
      return takes_part(plan.victim);
    case Fault::link_break:
      return takes_part(plan.victim) && takes_part(plan.other);
    case Fault::silence:
    case Fault::slow_user:
      return plan.limited[call.group];
    case Fault::hurry:
      return plan.limited[call.group] && takes_part(plan.victim);
    case Fault::leave_group:
      return call.group == plan.left_group && takes_part(plan.victim);
  }
  return false;
}

/// True when a call of that rank may fail with this error after the fault.
inline bool may_fail_with(const SimPlan& plan, int number, const Error& error) {
  const std::string victim = format("rank {} (host n{})", plan.victim, plan.victim);
  switch (plan.fault) {
    case Fault::none:
      return false;
    case Fault::death:
      return error.code == Errc::peer_lost &&
             (has_text(error.message, victim + " died: killed by SIGKILL") ||
              has_text(error.message, "lost"));
    case Fault::leave:
      return error.code == Errc::peer_lost && has_text(error.message, "has left the job");
    case Fault::link_break:
      return error.code == Errc::peer_lost &&
             (has_text(error.message, "lost") || has_text(error.message, "has left the job"));
    case Fault::silence:
    case Fault::slow_user:
    case Fault::hurry:
      return error.code == Errc::timeout || error.code == Errc::peer_lost;
    case Fault::launcher_lost:
      return error.code == Errc::peer_lost && has_text(error.message, "launcher");
    case Fault::leave_group:
      if (number == plan.victim)
        return error.code == Errc::closed &&
               has_text(error.message, "the group has been finalized");
      return error.code == Errc::peer_lost &&
             has_text(error.message, victim + " has finalized the group");
  }
  return false;
}

}  // namespace dt
