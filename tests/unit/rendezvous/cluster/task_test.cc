#include "rendezvous/cluster/task.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TaskTable mixed_table() {
  return {"job",
          3,
          {{{"ps", 0}, -1, 0, "a", {"10.0.0.1", "::1"}, {1, 7}},
           {{"worker", 0}, 0, 0, "a", {"10.0.0.1"}},
           {{"worker", 1}, 1, 1, "b", {}}}};
}

TEST_CASE("a task's name is its role and index") {
  CHECK(TaskId{"worker", 3}.text() == "worker:3");
  CHECK(TaskId{"ps", -1}.text() == "ps:-1");
}

TEST_CASE("a table finds tasks by name and by rank, and counts those with a rank") {
  const TaskTable table = mixed_table();
  CHECK(table.find({"worker", 1}) == &table.tasks[2]);
  CHECK(table.find({"worker", 2}) == nullptr);
  CHECK(table.by_rank(0) == &table.tasks[1]);
  CHECK(table.by_rank(2) == nullptr);
  // Not the first of the many tasks without one.
  CHECK(table.by_rank(-1) == nullptr);
  CHECK(table.world_size() == 2);
}

TEST_CASE("a table is read back as it was written, and a cut one is not read") {
  const TaskTable table = mixed_table();
  Writer writer;
  encode(writer, table);
  const Bytes bytes = writer.take();
  Reader whole(bytes);
  CHECK(decode_task_table(whole) == table);
  CHECK(whole.finish("table"));
  for (size_t n = 0; n < bytes.size(); ++n) {
    Reader cut(ByteSpan(bytes).first(n));
    decode_task_table(cut);
    CHECK(!cut.finish("table"));
  }
}

TEST_CASE("the higher of two tasks dials, unless only the other direction is reachable") {
  TaskEntry low = {.id = {"worker", 0}, .rank = 0, .agent = 0, .host = "a"};
  TaskEntry high = {.id = {"worker", 1}, .rank = 1, .agent = 1, .host = "b"};
  const auto who = [&] {
    CHECK(dials(low, high) != dials(high, low));
    CHECK(one_way(low, high) == one_way(high, low));
    return dials(high, low) ? "high" : "low";
  };
  CHECK(who() == std::string("high"));
  CHECK(!one_way(low, high));
  low.cut_off = {1};
  CHECK(who() == std::string("low"));
  CHECK(one_way(low, high));
  high.cut_off = {0};
  CHECK(who() == std::string("high"));
  CHECK(!one_way(low, high));
  low.cut_off = {2};
  CHECK(who() == std::string("high"));
}

TEST_CASE("a table of many like tasks is short, and few bytes do not make it huge") {
  TaskTable table = {"job", 1, {}};
  for (int i = 0; i < 8000; ++i)
    table.tasks.push_back({{"worker", i}, i, i / 8, "node" + std::to_string(i / 8), {"10.0.0.1"}});
  Writer writer;
  encode(writer, table);
  const Bytes bytes = writer.take();
  CHECK(bytes.size() < 80'000);
  Reader reader(bytes);
  CHECK(decode_task_table(reader) == table);

  Writer huge;
  huge.text("j").number(uint32_t{1}).number(uint32_t{1});
  huge.number(int32_t{0}).text(std::string(1000, 'h')).texts({}).number(uint32_t{0});
  huge.number(uint32_t{1}).text("worker").number(int32_t{0});
  huge.number(int32_t{0}).number(uint32_t{0}).number(uint32_t{1'000'000'000});
  const Bytes claim = huge.take();
  Reader claimed(claim);
  CHECK(decode_task_table(claimed).tasks.empty());
  CHECK(!claimed.ok());
}

TEST_CASE("a table that claims more tasks than it has bytes allocates none") {
  Writer writer;
  writer.text("j").number(uint32_t{1}).number(uint32_t{0xFFFFFFFF});
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  CHECK(decode_task_table(reader).tasks.empty());
  CHECK(!reader.ok());
}

TEST_CASE("a notice is read back as it was written") {
  const Notice notice{Notice::Kind::left, {"worker", 2}, ""};
  Writer writer;
  encode(writer, notice);
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  CHECK(decode_notice(reader) == notice);
  CHECK(reader.finish("notice"));
}

}  // namespace
}  // namespace dt
