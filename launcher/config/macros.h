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

/// What macros stand for alike in all tasks of a job, and where they count beside the command.
struct JobMacros {
  /// By role, the variables whose values the user gave with a macro in them.
  std::map<std::string, std::vector<std::string>> variables = {};
  int world_size = 0;
  std::string master_address = {};
  uint16_t master_port = 0;
  std::string job_id = {};
  bool operator==(const JobMacros&) const = default;
};

/// What macros stand for in the words and variables of one task.
struct MacroValues {
  TaskId task;
  std::optional<int> rank = {};  ///< none: its role has no rank, and so no local rank
  int local_rank = -1;
  const JobMacros& job;
  const ClusterSpec& cluster;
};

/// Replaces these tokens, no other brace, no ${word}: {cluster_spec} ("ps|h:p,worker|h:p;h:p",
/// without the evaluator), {hosts:ROLE} ("h:p,h:p"), {host} and {port} (its own in the cluster),
/// {role}, {index}, {rank}, {local_rank}, {world_size}, {master_addr}, {master_port}, {job_id}.
/// What they become is not looked at again. The text must have passed check_macros for its role.
std::string expand_macros(std::string_view text, const MacroValues& values);

/// Whether there is a macro in the text, one that the cluster is needed for, and one that lists
/// addresses in the order of their indices.
struct MacroNeed {
  bool any = false;
  bool cluster = false;
  bool lists = false;
};
MacroNeed macro_need(std::string_view text);

/// How long the text can become in a job with so many tasks of each role, at addresses so long.
uint64_t expanded_bytes_max(std::string_view text, const std::map<std::string, int>& tasks_of,
                            uint64_t address_bytes_max);

/// Errc::input for {hosts:ROLE} of a role that the job does not have, and for ranks in a text of a
/// role without them.
Result<> check_macros(std::string_view text, std::string_view role, bool ranked,
                      const std::set<std::string>& roles);

/// Words in braces that are one edit away from a macro, each once, with what was probably meant:
/// "{wrank} is not a macro; {rank} is".
std::vector<std::string> misspelt_macros(std::span<const std::string> texts);

}  // namespace dt
