#pragma once

#include "base/result.h"
#include "launcher/config/role.h"
#include "launcher/export/containers.h"
#include "launcher/export/kubernetes/pod.h"

#include <string>

namespace dt {

/// The fields of a pod that have numbers of its task.
struct TaskFields {
  std::string index;  ///< in its role
  std::string rank;   ///< in the job, for a role with ranks
};

/// Returns one pod for all tasks of a role, with the variables by which they find each other. Fails
/// with Errc::input where tasks differ by more than their numbers.
Result<Pod> role_pod(const Containers& containers, const Role& role, const TaskFields& fields);

}  // namespace dt
