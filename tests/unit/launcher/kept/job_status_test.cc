#include "launcher/kept/job_status.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

namespace dt {
namespace {

constexpr const char* report = R"({"tasks": [
  {"role": "worker", "index": 0, "rank": 0, "host": "a", "address": "a:2222", "gpus": "0,1",
   "pid": 12, "ended_at_s": null, "exit": null, "completed": null, "earlier_attempts": [{}, {}]},
  {"role": "worker", "index": 1, "rank": 1, "host": "b", "address": "b:2222", "gpus": null,
   "pid": 13, "ended_at_s": 1.5, "exit": {"code": 0, "signal": null, "oom": false},
   "completed": true, "earlier_attempts": []},
  {"role": "ps", "index": 0, "rank": null, "host": "b", "address": "b:2223", "gpus": null,
   "pid": 14, "ended_at_s": 1.5, "exit": {"code": null, "signal": "SIGKILL", "oom": false},
   "completed": false, "earlier_attempts": []},
  {"role": "ps", "index": 1, "rank": null, "host": "b", "address": null, "gpus": null, "pid": null,
   "ended_at_s": null, "exit": null, "completed": null, "earlier_attempts": []}]})";

KnownJob a_job(JobState state) {
  return {.folder = {.id = "mnist-3", .path = "/j"},
          .summary = {.machine = {"m", "b"},
                      .command = {"python", "train.py", "a b"},
                      .began_s = 1000,
                      .tasks = 4,
                      .hosts = 2},
          .state = state};
}

TEST_CASE("the table of a job has a line for each task") {
  const auto tasks = reported_tasks(Json::parse(report).value()).value();
  CHECK(status_text(a_job(JobState::running), tasks, 1063) ==
        "mnist-3: running, since 1m3s; 4 tasks on 2 hosts: python train.py 'a b'\n"
        "TASK      RANK  HOST  PID  STATE    EXIT     RESTARTS  OUTPUT  ADDRESS  GPUS\n"
        "worker:0  0     a     12   running  -        2         -       a:2222   0,1\n"
        "worker:1  1     b     13   done     0        0         -       b:2222   -\n"
        "ps:0      -     b     14   failed   SIGKILL  0         -       b:2223   -\n"
        "ps:1      -     b     -    waiting  -        0         -       -        -\n");
  KnownJob ended = a_job(JobState::ended);
  ended.summary.ended_s = 1000 + 2 * 86400 + 3600;
  ended.summary.exit_status = 143;
  ended.summary.reason = "interrupted by SIGTERM";
  ended.summary.tasks = ended.summary.hosts = 1;
  CHECK(status_text(ended, {}, 9999999) ==
        "mnist-3: ended with status 143, after 2d1h; 1 task on 1 host: python train.py 'a b'\n"
        "interrupted by SIGTERM\n");
  CHECK(status_text(a_job(JobState::lost), tasks, 1000).find("12   lost") != std::string::npos);
  CHECK(reported_tasks(Json::parse("{}").value()).error().code == Errc::input);
}

TEST_CASE("the list of jobs has their states and times") {
  KnownJob ended = a_job(JobState::ended);
  ended.folder.id = "a-1";
  ended.summary.ended_s = 1005;
  ended.summary.exit_status = 0;
  const KnownJob unknown = {.folder = {.id = "b-1", .path = "/j"}, .summary = {}};
  CHECK(list_text({a_job(JobState::running), ended, a_job(JobState::elsewhere), unknown}, 4700) ==
        "JOB      STATE    STATUS  BEGAN     LASTED  TASKS  HOSTS  COMMAND\n"
        "mnist-3  running  -       1h1m ago  1h1m    4      2      python train.py 'a b'\n"
        "a-1      ended    0       1h1m ago  5s      4      2      python train.py 'a b'\n"
        "mnist-3  on m     -       1h1m ago  -       4      2      python train.py 'a b'\n"
        "b-1      lost     -       -         -       0      0      -\n");
}

TEST_CASE("the cluster of a job has the tasks that run") {
  const auto tasks = reported_tasks(Json::parse(report).value()).value();
  CHECK(running_cluster(tasks).value().json().text() == R"({"worker":["a:2222"]})");
  CHECK(running_cluster({}).error().code == Errc::not_found);
}

TEST_CASE("a task's last output is as old as the newer of its files") {
  const TemporaryFolder folder;
  auto tasks = reported_tasks(Json::parse(report).value()).value();
  folder.write("rank.01/stdout", "x");
  folder.write("rank.01/stderr", "x");
  folder.write("ps.0/stdout", "x");
  for (const auto& [name, at_s] : {std::pair<const char*, time_t>{"/rank.01/stdout", 1000},
                                   {"/rank.01/stderr", 1040},
                                   {"/ps.0/stdout", 2000}}) {
    const timespec times[] = {{.tv_sec = at_s}, {.tv_sec = at_s}};
    REQUIRE(::utimensat(AT_FDCWD, (folder.path() + name).c_str(), times, 0) == 0);
  }
  look_at_outputs({.rank_digits = 2, .output = folder.path()}, WallClock::time_point(seconds(1100)),
                  tasks);
  CHECK_FALSE(tasks[0].silent_s);
  CHECK(tasks[1].silent_s == 60);
  CHECK(tasks[2].silent_s == 0);
}

}  // namespace
}  // namespace dt
