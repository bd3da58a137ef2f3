#pragma once

#include "base/result.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The values of macros that all tasks of a job share, and the variables that contain macros.
struct JobMacros {
  /// By role, the variables to whose values the user gave a macro.
  std::map<std::string, std::vector<std::string>> variables = {};
  int world_size = 0;
  std::string master_address = {};
  uint16_t master_port = 0;
  std::string job_id = {};
  std::string code_dir = {};  ///< the tree of --sync on the task's host
  bool operator==(const JobMacros&) const = default;
};

/// The values of macros in the command and variables of one task.
struct MacroValues {
  TaskId task;
  std::optional<int> rank = {};  ///< none: the role has no ranks, and thus no local rank
  int local_rank = -1;
  const JobMacros& job;
  const ClusterSpec& cluster;
};

/// Replaces the macros of a text. The task's own values replace {role}, {index}, {rank},
/// {local_rank}, {world_size}, {host} and {port}. The job's values replace {master_addr},
/// {master_port}, {job_id} and {code_dir}. The macro {hosts:ROLE} becomes "h:p,h:p"; {cluster_spec}
/// becomes "ps|h:p,worker|h:p;h:p", without the evaluator. Other braces and ${word} stay, and
/// values are not expanded again. Requires a text that has passed check_macros for its role.
std::string expand_macros(std::string_view text, const MacroValues& values);

/// The kinds of macros in a text. There is `any`, one needs the `cluster`, one `lists` addresses in
/// the order of their indices, or one needs the `code` of --sync.
struct MacroNeed {
  bool any = false;
  bool cluster = false;
  bool lists = false;
  bool code = false;
};
MacroNeed macro_need(std::string_view text);

/// Returns the greatest possible length of the expanded text for a job with `tasks_of` each role,
/// whose addresses have at most `address_bytes_max` bytes.
uint64_t expanded_bytes_max(std::string_view text, const std::map<std::string, int>& tasks_of,
                            uint64_t address_bytes_max);

/// Fails with Errc::input for {hosts:ROLE} of a role that the job does not have. The same holds for
/// ranks in a text of a role without ranks.
Result<> check_macros(std::string_view text, std::string_view role, bool ranked,
                      const std::set<std::string>& roles);

/// Returns a warning for each word in braces that is one edit away from a macro: "{wrank}
/// ({rank}?)".
std::vector<std::string> misspelt_macros(std::span<const std::string> texts);

}  // namespace dt
