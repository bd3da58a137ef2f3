#include "rendezvous/cluster/task.h"

#include "base/format.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace dt {

std::string TaskId::text() const {
  return format("{}:{}", role, index);
}

const TaskEntry* TaskTable::find(const TaskId& id) const {
  const auto at = std::ranges::find(tasks, id, &TaskEntry::id);
  return at == tasks.end() ? nullptr : &*at;
}

const TaskEntry* TaskTable::by_rank(int rank) const {
  if (rank < 0) return nullptr;
  const auto at = std::ranges::find(tasks, rank, &TaskEntry::rank);
  return at == tasks.end() ? nullptr : &*at;
}

int TaskTable::world_size() const {
  return static_cast<int>(
      std::ranges::count_if(tasks, [](const TaskEntry& task) { return task.rank >= 0; }));
}

void encode(Writer& writer, const TaskId& id) {
  writer.text(id.role).number(int32_t{id.index});
}

TaskId decode_task_id(Reader& reader) {
  TaskId id;
  id.role = reader.text();
  id.index = reader.number<int32_t>();
  return id;
}

namespace {

bool reaches(const TaskEntry& from, const TaskEntry& to) {
  return std::ranges::count(to.cut_off, from.agent) == 0;
}

}  // namespace

bool dials(const TaskEntry& self, const TaskEntry& peer) {
  return one_way(self, peer) ? reaches(self, peer) : peer.id < self.id;
}

bool one_way(const TaskEntry& a, const TaskEntry& b) {
  return reaches(a, b) != reaches(b, a);
}

namespace {

/// True when two tasks have all facts of their host in common.
bool share_machine(const TaskEntry& a, const TaskEntry& b) {
  return a.agent == b.agent && a.host == b.host && a.addresses == b.addresses &&
         a.cut_off == b.cut_off;
}

/// Consecutive tasks with consecutive ids and ranks on one host: encoded as the first and a count.
struct Run {
  size_t first = 0;
  uint32_t count = 0;
  uint32_t machine = 0;  ///< the index in Summary::machines
};

bool follows(const TaskEntry& task, const TaskEntry& before) {
  const bool ranks = before.rank < 0 ? task.rank == before.rank : task.rank == before.rank + 1;
  return ranks && task.id.index == before.id.index + 1 && task.id.role == before.id.role &&
         share_machine(task, before);
}

/// A table without repeated hosts and tasks. It must be small: each of many tasks receives it.
struct Summary {
  std::vector<size_t> machines;  ///< for each, the index of a task on it
  std::vector<Run> runs;
};

Summary summary_of(const std::vector<TaskEntry>& tasks) {
  Summary summary;
  std::map<int, uint32_t> by_agent;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0 && follows(tasks[i], tasks[i - 1])) {
      ++summary.runs.back().count;
      continue;
    }
    const auto machine = static_cast<uint32_t>(summary.machines.size());
    auto [at, is_new] = by_agent.emplace(tasks[i].agent, machine);
    if (!is_new && !share_machine(tasks[i], tasks[summary.machines[at->second]])) {
      at->second = machine;
      is_new = true;
    }
    if (is_new) summary.machines.push_back(i);
    summary.runs.push_back({.first = i, .count = 1, .machine = at->second});
  }
  return summary;
}

/// Returns the approximate memory of an entry of this machine.
size_t entry_bytes(const TaskEntry& machine) {
  size_t bytes = sizeof(TaskEntry) + machine.host.size();
  bytes += machine.cut_off.size() * sizeof(int32_t);
  for (const std::string& address : machine.addresses)
    bytes += sizeof(std::string) + address.size();
  return bytes;
}

/// Appends the tasks of the next run, and subtracts their memory from `room`. The limit is needed
/// because a few bytes can name many tasks.
void decode_run(Reader& reader, const std::vector<TaskEntry>& machines, size_t& room,
                std::vector<TaskEntry>& tasks) {
  const TaskId first = decode_task_id(reader);
  const auto rank = reader.number<int32_t>();
  const auto machine = reader.number<uint32_t>();
  const auto count = reader.number<uint32_t>();
  constexpr int64_t number_max = std::numeric_limits<int32_t>::max();
  const bool possible = machine < machines.size() &&
                        count <= room / entry_bytes(machines[machine]) &&
                        std::max(first.index, rank) + int64_t{count} <= number_max;
  if (!possible) return reader.refuse();
  room -= count * entry_bytes(machines[machine]);
  for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
    TaskEntry task = machines[machine];
    task.id = {first.role, first.index + i};
    task.rank = rank < 0 ? rank : rank + i;
    tasks.push_back(std::move(task));
  }
}

}  // namespace

void encode(Writer& writer, const TaskTable& table) {
  writer.text(table.job).number(table.generation);
  const Summary summary = summary_of(table.tasks);
  writer.number(static_cast<uint32_t>(summary.machines.size()));
  for (const size_t at : summary.machines) {
    const TaskEntry& task = table.tasks[at];
    writer.number(int32_t{task.agent}).text(task.host).texts(task.addresses);
    writer.number(static_cast<uint32_t>(task.cut_off.size()));
    for (const int32_t agent : task.cut_off)
      writer.number(agent);
  }
  writer.number(static_cast<uint32_t>(summary.runs.size()));
  for (const Run& run : summary.runs) {
    const TaskEntry& first = table.tasks[run.first];
    encode(writer, first.id);
    writer.number(int32_t{first.rank}).number(run.machine).number(run.count);
  }
}

TaskTable decode_task_table(Reader& reader) {
  constexpr size_t machine_bytes_min = 4 * sizeof(uint32_t);
  constexpr size_t run_bytes_min = 5 * sizeof(uint32_t);
  TaskTable table;
  table.job = reader.text();
  table.generation = reader.number<uint32_t>();
  std::vector<TaskEntry> machines(reader.count(machine_bytes_min));
  for (TaskEntry& machine : machines) {
    machine.agent = reader.number<int32_t>();
    machine.host = reader.text();
    machine.addresses = reader.texts();
    machine.cut_off.resize(reader.count(sizeof(int32_t)));
    for (int32_t& agent : machine.cut_off)
      agent = reader.number<int32_t>();
  }
  const uint32_t runs = reader.count(run_bytes_min);
  size_t room = table_bytes_max;
  for (uint32_t run = 0; run < runs && reader.ok(); ++run)
    decode_run(reader, machines, room, table.tasks);
  return table;
}

void encode(Writer& writer, const Notice& notice) {
  writer.number(notice.kind);
  encode(writer, notice.task);
  writer.text(notice.cause).number(notice.attempt).number(notice.returns);
}

Notice decode_notice(Reader& reader) {
  Notice notice;
  notice.kind = reader.number<Notice::Kind>();
  notice.task = decode_task_id(reader);
  notice.cause = reader.text();
  notice.attempt = reader.number<uint32_t>();
  // Read as a number: a bool other than 0 and 1 would be undefined behaviour.
  notice.returns = reader.number<uint8_t>() != 0;
  return notice;
}

}  // namespace dt
