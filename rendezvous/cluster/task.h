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
/// Watches a training from aside: it is in no cluster and has no rank.
inline constexpr std::string_view evaluator_role = "evaluator";
/// Longest role name: identities must fit into the 256 bytes before a peer has proved itself.
inline constexpr size_t role_bytes_max = 63;
/// What a table that is read may take in memory.
inline constexpr size_t table_bytes_max = size_t{64} << 20;

/// What every task may know of another.
struct TaskEntry {
  TaskId id;
  int rank = -1;  ///< -1: a task without rank
  int agent = 0;  ///< tasks with equal numbers share a host and can share memory
  std::string host;
  std::vector<std::string> addresses = {};  ///< numeric, best first: where its peers reach it
  std::vector<int32_t> cut_off = {};        ///< agents whose tasks reach it nowhere
  bool operator==(const TaskEntry&) const = default;
};

/// Which of two tasks dials the other: the higher one, unless only the other way leads there.
bool dials(const TaskEntry& self, const TaskEntry& peer);

/// All tasks of one generation of a job.
struct TaskTable {
  std::string job;
  uint32_t generation = 0;
  std::vector<TaskEntry> tasks;

  const TaskEntry* find(const TaskId& id) const;
  const TaskEntry* by_rank(int rank) const;
  /// How many tasks have a rank.
  int world_size() const;
  bool operator==(const TaskTable&) const = default;
};

/// Its task is gone: it died, or it left by ending well.
struct Notice {
  enum class Kind : uint8_t { dead, left };
  Kind kind = Kind::dead;
  TaskId task;
  std::string cause;  ///< "killed by SIGKILL", "exit status 3"; empty when it left
  bool operator==(const Notice&) const = default;
};

void encode(Writer& writer, const TaskId& id);
void encode(Writer& writer, const TaskTable& table);
void encode(Writer& writer, const Notice& notice);
TaskId decode_task_id(Reader& reader);
TaskTable decode_task_table(Reader& reader);
Notice decode_notice(Reader& reader);

}  // namespace dt
