#pragma once

#include "base/result.h"
#include "rendezvous/cluster_spec.h"
#include "rendezvous/task.h"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// What macros stand for in the words and variables of one task.
struct MacroValues {
  TaskId task;
  std::optional<int> rank = {};  ///< none: its role has no rank, and so no local rank
  int local_rank = -1;
  int world_size = 0;
  std::string host = {};  ///< its own, as it was given
  uint16_t port = 0;      ///< its own in the ClusterSpec
  std::string master_address = {};
  uint16_t master_port = 0;
  std::string job_id = {};
};

/// Replaces these tokens, and no other brace: {cluster_spec} ("worker|h:p;h:p,ps|h:p"),
/// {hosts:ROLE}
/// ("h:p,h:p"), {role}, {index}, {rank}, {local_rank}, {world_size}, {host}, {port}, {master_addr},
/// {master_port}, {job_id}. What they become is not looked at again. The text must have passed
/// check_macros for its role.
std::string expand_macros(std::string_view text, const MacroValues& values,
                          const ClusterSpec& cluster);

/// Errc::input for {hosts:ROLE} of a role that the job does not have, and for ranks in a text of a
/// role without them.
Result<> check_macros(std::string_view text, std::string_view role, bool ranked,
                      const std::set<std::string>& roles);

/// Words in braces that are one edit away from a macro, each once, with what was probably meant:
/// "{wrank} is not a macro; {rank} is".
std::vector<std::string> misspelt_macros(std::span<const std::string> texts);

}  // namespace dt
