#include "launcher/report/report_document.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

/// Returns the record of a job with two ranks and one task without rank, before any event.
JobRecord planned_record() {
  JobRecord record;
  record.began_at = WallClock::time_point(seconds(1'000'000'000));
  Plan plan;
  plan.hosts = {{.host = {.name = "node1", .slots = 2}}};
  plan.add({.id = {"worker", 0}, .rank = 0, .local_rank = 0});
  plan.add({.id = {"worker", 1}, .rank = 1, .local_rank = 1});
  plan.add({.id = {"ps", 0}});
  plan.world_size = 2;
  record.planned(plan, "j1");
  return record;
}

const Json& at(const Json& json, std::string_view name) {
  const Json* const found = json.find(name);
  REQUIRE_MESSAGE(found != nullptr, name);
  return *found;
}

const Json& at(const Json& json, std::string_view list, size_t number) {
  const auto* const array = at(json, list).as<Json::Array>();
  REQUIRE(array != nullptr);
  REQUIRE(array->size() > number);
  return (*array)[number];
}

TEST_CASE("report_document: a job without a plan has its reason, and all members") {
  JobRecord record;
  record.began_at = WallClock::time_point();
  const Json json =
      report_document(record, {"true"}, Outcome{.exit_status = 3, .reason = "no host"},
                      record.began + milliseconds(1500));
  CHECK(
      json.text() ==
      R"({"report_version":1,"version":"0.1.0","job":null,"name":null,"command":["true"],)"
      R"("start":"1970-01-01T00:00:00.000Z","end":"1970-01-01T00:00:01.500Z",)"
      R"("duration_s":1.5,"exit_status":3,"reason":"no host","failure":null,)"
      R"("failed_tasks":0,"world_size":0,"roles":[],"cluster":null,"hosts":[],"tasks":[],"generations":[],"sync":null,"stalls":[],)"
      R"("counters":{"rendezvous":null}})");
}

TEST_CASE("report_document: a task that never started is all null") {
  const JobRecord record = planned_record();
  const Json json = report_document(record, {"true"}, Outcome(), record.began);
  CHECK(at(json, "job") == Json("j1"));
  CHECK(
      at(json, "tasks", 0).text() ==
      R"({"role":"worker","index":0,"rank":0,"local_rank":0,"host":"node1","address":null,"gpus":null,"pid":null,)"
      R"("started_at_s":null,"ended_at_s":null,"exit":null,"resources":null,)"
      R"("completed":null,"output":null,"earlier_attempts":[]})");
  CHECK(at(at(json, "tasks", 2), "rank") == Json());
  CHECK(at(at(json, "tasks", 2), "role") == Json("ps"));
  CHECK(at(json, "hosts", 0).text() ==
        R"({"name":"node1","slots":2,"tasks":3,"contained_by":null})");
}

TEST_CASE("report_document: the facts of a task that ended") {
  JobRecord record = planned_record();
  record.tasks[0] = {.pid = 77,
                     .started = record.began + milliseconds(250),
                     .ended = record.began + seconds(2),
                     .exit = ExitStatus{.code = 3},
                     .used = ResourceUse{.user = milliseconds(1500),
                                         .system = milliseconds(125),
                                         .max_rss_bytes = 4096,
                                         .major_faults = 1,
                                         .voluntary_switches = 2,
                                         .involuntary_switches = 3}};
  record.tasks[1].exit = ExitStatus{.signal = SIGKILL, .out_of_memory = true};
  record.output = {{.stdout_bytes = 10, .stderr_bytes = 20, .lost_bytes = 5}, {}, {}};
  record.contained_by = {"sweep"};
  record.rendezvous = RendezvousServer::Counters{.accepted = 4,
                                                 .rejected = 1,
                                                 .refused = 2,
                                                 .requests = 99,
                                                 .horovod_requests = 7,
                                                 .joined = 2};
  const Json json = report_document(record, {"true"}, Outcome(), record.began + seconds(3));
  CHECK(
      at(json, "tasks", 0).text() ==
      R"({"role":"worker","index":0,"rank":0,"local_rank":0,"host":"node1","address":null,"gpus":null,"pid":77,)"
      R"("started_at_s":0.25,"ended_at_s":2.0,"exit":{"code":3,"signal":null,"oom":false},)"
      R"("resources":{"user_s":1.5,"system_s":0.125,"max_rss_bytes":4096,"major_faults":1,)"
      R"("voluntary_switches":2,"involuntary_switches":3},)"
      R"("completed":false,"output":{"stdout_bytes":10,"stderr_bytes":20,"lost_bytes":5,"dropped_bytes":0},)"
      R"("earlier_attempts":[]})");
  CHECK(at(at(json, "tasks", 1), "exit").text() ==
        R"({"code":null,"signal":"SIGKILL","oom":true})");
  CHECK(at(at(json, "hosts", 0), "contained_by") == Json("sweep"));
  CHECK(
      at(json, "counters").text() ==
      R"({"rendezvous":{"connections":4,"rejected":1,"refused":2,"requests":99,"horovod_requests":7}})");
}

TEST_CASE("report_document: the failure, with the last lines of its stderr") {
  JobRecord record = planned_record();
  record.last_stderr = {"Traceback", "ValueError"};
  Outcome outcome = {.exit_status = 1, .failed_tasks = 2};
  outcome.failure = Failure{
      .task = {"worker", 1}, .rank = 1, .host = "node1", .pid = 78, .cause = "exit status 1"};
  CHECK(at(report_document(record, {"x"}, outcome, record.began), "failure").text() ==
        R"({"role":"worker","index":1,"rank":1,"host":"node1","pid":78,)"
        R"("cause":"exit status 1","error":null,"last_stderr":["Traceback","ValueError"]})");
  outcome.failure->error = TaskError{"ValueError: x", "train.py:3", 0};
  CHECK(at(at(report_document(record, {"x"}, outcome, record.began), "failure"), "error").text() ==
        R"({"message":"ValueError: x","frame":"train.py:3"})");
  outcome.failure->pid = 0;
  outcome.failure->rank = -1;
  const Json json = report_document(record, {"x"}, outcome, record.began);
  CHECK(at(at(json, "failure"), "pid") == Json());
  CHECK(at(at(json, "failure"), "rank") == Json());
  CHECK(at(json, "failed_tasks") == Json(2));
}

TEST_CASE("report_document: bytes that are not UTF-8 do not break the JSON") {
  JobRecord record;
  const std::string text =
      report_document(record, {"a\xff", "quote\"\n"}, {}, record.began).text(2);
  const auto read = Json::parse(text);
  REQUIRE(read.has_value());
  CHECK(at(*read, "command").text() == "[\"a\xEF\xBF\xBD\",\"quote\\\"\\n\"]");
}

TEST_CASE("report_document: a restarted task has its last attempt, and the earlier ones") {
  JobRecord record = planned_record();
  TaskRecord& task = record.tasks[0];
  task = {.pid = 77,
          .started = record.began + seconds(1),
          .ended = record.began + seconds(2),
          .exit = ExitStatus{.signal = SIGKILL}};
  task.restart();
  CHECK_FALSE(task.exit);
  task.pid = 78;
  const Json json = report_document(record, {"true"}, Outcome(), record.began + seconds(3));
  CHECK(at(at(json, "tasks", 0), "pid") == Json(78));
  CHECK(at(at(json, "tasks", 0), "earlier_attempts").text() ==
        R"([{"pid":77,"started_at_s":1.0,"ended_at_s":2.0,)"
        R"("exit":{"code":null,"signal":"SIGKILL","oom":false}}])");
}

TEST_CASE("report_document: each start of the tasks is a generation") {
  JobRecord record = planned_record();
  record.begin_generation(record.began + seconds(1));
  record.last_stderr = {"no memory"};
  const Outcome failed = {
      .exit_status = 137,
      .failure = Failure{.task = {"worker", 1}, .rank = 1, .host = "node1", .cause = "killed"}};
  record.end_generation(failed, record.began + seconds(4));
  record.planned(record.plan, "j1");
  CHECK(record.last_stderr.empty());
  record.begin_generation(record.began + seconds(6));
  const Json json = report_document(record, {"true"}, Outcome(), record.began + seconds(7));
  const Json& first = at(json, "generations", 0);
  CHECK(at(first, "number") == Json(1));
  CHECK(at(first, "began_at_s") == Json(1.0));
  CHECK(at(first, "ended_at_s") == Json(4.0));
  CHECK(at(first, "waited_s") == Json());
  CHECK(at(first, "world_size") == Json(2));
  CHECK(at(first, "hosts").text() == R"(["node1"])");
  CHECK(at(at(first, "failure"), "rank") == Json(1));
  CHECK(at(at(first, "failure"), "last_stderr").text() == R"(["no memory"])");
  const Json& second = at(json, "generations", 1);
  CHECK(at(second, "number") == Json(2));
  CHECK(at(second, "ended_at_s") == Json());
  CHECK(at(second, "waited_s") == Json(2.0));
  CHECK(at(second, "failure") == Json());
}

TEST_CASE("report_document: the files of --sync, and the hosts that got them") {
  JobRecord record;
  record.sync =
      SyncRecord{.tree = {.root = "/src", .commit = "abc", .dirty = true, .files = 3, .bytes = 9},
                 .hosts = {{"node1", {.folder = "/tree", .files_sent = 2, .bytes_sent = 8}}}};
  const std::string text = report_document(record, {"true"}, Outcome(), record.began).text();
  CHECK(
      text.find(R"("sync":{"root":"/src","commit":"abc","dirty":true,"files":3,"bytes":9,)"
                R"("hosts":[{"name":"node1","folder":"/tree","files_sent":2,"bytes_sent":8}]})") !=
      std::string::npos);
}

}  // namespace
}  // namespace dt
