#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Names one process of a job for the whole stack: frames, store, links. The rendezvous server
/// itself is
/// {"launcher", 0}.
struct TaskId {
  std::string role;
  int index = 0;
  auto operator<=>(const TaskId&) const = default;
  /// "worker:3".
  std::string text() const;
};

inline constexpr std::string_view launcher_role = "launcher";
/// The role of an agent in a Claim. Its index is that of its host.
inline constexpr std::string_view agent_role = "agent";
/// The role of a node that brings its own agent. Its index is its rank, or 0 where it has none.
inline constexpr std::string_view node_role = "node";
/// The role of a task that evaluates a training: it is in no cluster and has no rank.
inline constexpr std::string_view evaluator_role = "evaluator";
/// The longest role name. Identities must fit into the 256 bytes that are read before a peer has
/// proved the token.
inline constexpr size_t role_bytes_max = 63;
/// The memory limit of a decoded table.
inline constexpr size_t table_bytes_max = size_t{64} << 20;

/// The facts about a task that every other task receives.
struct TaskEntry {
  TaskId id;
  int rank = -1;  ///< -1: a task without rank
  int agent = 0;  ///< tasks with the same number are on one host and can share memory
  std::string host;
  std::vector<std::string> addresses = {};  ///< numeric, best first, for its peers
  std::vector<int32_t> cut_off = {};        ///< agents whose tasks cannot reach it
  bool operator==(const TaskEntry&) const = default;
};

/// True when `self` dials `peer`: the higher task dials the lower one, unless only the other
/// direction is reachable.
bool dials(const TaskEntry& self, const TaskEntry& peer);
/// True when only one of the two tasks can reach the other.
bool one_way(const TaskEntry& a, const TaskEntry& b);

/// All tasks of one generation of a job.
struct TaskTable {
  std::string job;
  uint32_t generation = 0;
  std::vector<TaskEntry> tasks;

  const TaskEntry* find(const TaskId& id) const;
  const TaskEntry* by_rank(int rank) const;
  /// Returns the number of tasks with a rank.
  int world_size() const;
  bool operator==(const TaskTable&) const = default;
};

/// The first process of a task is its attempt 1. Each restart of the task is the next attempt.
inline constexpr uint32_t first_attempt = 1;

/// The end of a task's process: it died, or it left because it ended well. Or the begin of the
/// next attempt of a task that died. A task that returns has died, even with exit status 0.
struct Notice {
  enum class Kind : uint8_t { dead, left, restarted };
  Kind kind = Kind::dead;
  TaskId task;
  std::string cause;  ///< "killed by SIGKILL", "exit status 3"; empty unless it died
  uint32_t attempt = first_attempt;
  /// The launcher will restart the dead task: `restarted` follows, or `dead` without this.
  bool returns = false;
  bool operator==(const Notice&) const = default;
};

void encode(Writer& writer, const TaskId& id);
void encode(Writer& writer, const TaskTable& table);
void encode(Writer& writer, const Notice& notice);
TaskId decode_task_id(Reader& reader);
TaskTable decode_task_table(Reader& reader);
Notice decode_notice(Reader& reader);

}  // namespace dt
