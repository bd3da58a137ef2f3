#include "rendezvous/task.h"

#include "base/format.h"

#include <algorithm>

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

bool dials(const TaskEntry& self, const TaskEntry& peer) {
  const bool leads_there = std::ranges::count(peer.cut_off, self.agent) == 0;
  const bool leads_back = std::ranges::count(self.cut_off, peer.agent) == 0;
  return leads_there == leads_back ? peer.id < self.id : leads_there;
}

void encode(Writer& writer, const TaskTable& table) {
  writer.text(table.job).number(table.generation);
  writer.number(static_cast<uint32_t>(table.tasks.size()));
  for (const TaskEntry& task : table.tasks) {
    encode(writer, task.id);
    writer.number(int32_t{task.rank}).number(int32_t{task.agent}).text(task.host);
    writer.texts(task.addresses);
    writer.number(static_cast<uint32_t>(task.cut_off.size()));
    for (const int32_t agent : task.cut_off)
      writer.number(agent);
  }
}

TaskTable decode_task_table(Reader& reader) {
  constexpr size_t entry_bytes_min = 7 * sizeof(uint32_t);
  TaskTable table;
  table.job = reader.text();
  table.generation = reader.number<uint32_t>();
  table.tasks.resize(reader.count(entry_bytes_min));
  for (TaskEntry& task : table.tasks) {
    task.id = decode_task_id(reader);
    task.rank = reader.number<int32_t>();
    task.agent = reader.number<int32_t>();
    task.host = reader.text();
    task.addresses = reader.texts();
    task.cut_off.resize(reader.count(sizeof(int32_t)));
    for (int32_t& agent : task.cut_off)
      agent = reader.number<int32_t>();
  }
  return table;
}

void encode(Writer& writer, const Notice& notice) {
  writer.number(notice.kind);
  encode(writer, notice.task);
  writer.text(notice.cause);
}

Notice decode_notice(Reader& reader) {
  Notice notice;
  notice.kind = reader.number<Notice::Kind>();
  notice.task = decode_task_id(reader);
  notice.cause = reader.text();
  return notice;
}

}  // namespace dt
