#include "launcher/kept/job_summary.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

namespace dt {
namespace {

JobSummary an_ended_job() {
  return {.job = "0123",
          .machine = {"login1", "b"},
          .command = {"python", "a b.py"},
          .began_s = 1000,
          .ended_s = 1060,
          .exit_status = 3,
          .reason = "why",
          .tasks = 4,
          .hosts = 2,
          .rank_digits = 2,
          .output = "/o"};
}

TEST_CASE("a summary is read as it was written") {
  const JobSummary ended = an_ended_job();
  CHECK(parse_summary(summary_json(ended)).value() == ended);
  JobSummary running = ended;
  running.ended_s.reset();
  running.exit_status.reset();
  running.reason.clear();
  running.output.clear();
  CHECK(parse_summary(summary_json(running)).value() == running);
  for (const char* text : {"null", "[]", "{}", R"({"began_s": "1"})", R"({"began_s": 1.5})"})
    CHECK(parse_summary(Json::parse(text).value()).error().code == Errc::input);
  const JobSummary odd =
      parse_summary(Json::parse(R"({"began_s": 1, "tasks": -1, "hosts": 99999999999, "command": [1],
                                    "exit_status": null})")
                        .value())
          .value();
  CHECK(odd == JobSummary{.began_s = 1});
}

TEST_CASE("the state of a job follows from its end, its lock and its machine") {
  const TemporaryFolder folder;
  const JobFolder job = {.id = "a-1", .path = folder.path()};
  const auto state = [&](const std::string& machine) {
    return state_text(look_at_job(job, {machine, machine == "login2" ? "c" : "b"}));
  };
  CHECK(state("login1") == "lost");
  folder.write("summary.json", "{ torn");
  CHECK(state("login1") == "lost");
  JobSummary summary = an_ended_job();
  folder.write("summary.json", summary_json(summary).text());
  CHECK(state("login1") == "ended with status 3");
  CHECK(state("login2") == "ended with status 3");
  summary.exit_status.reset();
  folder.write("summary.json", summary_json(summary).text());
  CHECK(state("login1") == "lost");
  CHECK(state("login2") == "on login1");
  // The machine has another name now, or has started again.
  CHECK(state("renamed") == "lost");
  CHECK(state_text(look_at_job(job, {"login1", "d"})) == "lost");
  const Json json = known_job_json(look_at_job(job, {"login2", "c"}));
  CHECK(*json.find("id") == Json("a-1"));
  CHECK(*json.find("state") == Json("elsewhere"));
  CHECK(*json.find("launcher_pid") == Json());
  CHECK(*json.find("tasks") == Json(4));
}

TEST_CASE("old jobs go, but for the last 30, the last 30 days, and those that may run") {
  const TemporaryFolder folder;
  const std::string root = folder.path() + "/jobs";
  constexpr int64_t day = 24 * 3600;
  constexpr int64_t now = 1000 * day;
  for (int job = 0; job < 40; ++job) {
    const std::string id = "a-" + std::to_string(job + 1);
    JobSummary summary = an_ended_job();
    summary.began_s = job * day;
    summary.ended_s = id == "a-3" ? now - 29 * day : job * day;
    if (id == "a-2") summary.exit_status.reset();  // on another machine, it may still run
    folder.write("jobs/" + id + "/summary.json", summary_json(summary).text());
    folder.write("jobs/" + id + "/job.toml", "");
    const timespec times[] = {{.tv_sec = 1000 + job}, {.tv_sec = 1000 + job}};
    REQUIRE(::utimensat(AT_FDCWD, (root + "/" + id + "/job.toml").c_str(), times, 0) == 0);
  }
  remove_old_jobs(root, now, {"login2", "c"});
  const std::vector<JobFolder> left = job_folders(root);
  CHECK(left.size() == 32);
  CHECK(std::filesystem::exists(root + "/a-2"));
  CHECK(std::filesystem::exists(root + "/a-3"));
  CHECK_FALSE(std::filesystem::exists(root + "/a-1"));
  CHECK_FALSE(std::filesystem::exists(root + "/a-10"));
  CHECK(std::filesystem::exists(root + "/a-11"));
}

TEST_CASE("new_job_folder: the folder of a job that begins now") {
  const TemporaryFolder folder;
  CHECK(new_job_folder({{"XDG_STATE_HOME", folder.path()}}, "x").value().path ==
        folder.path() + "/dtrain/jobs/x-1");
  folder.write("file", "");
  CHECK(new_job_folder({{"XDG_STATE_HOME", folder.path() + "/file"}}, "x").error().code ==
        Errc::os);
}

}  // namespace
}  // namespace dt
