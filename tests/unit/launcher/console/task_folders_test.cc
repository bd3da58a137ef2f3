#include "launcher/console/task_folders.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <string>

namespace dt {
namespace {

struct FoldersFixture {
  TemporaryFolder folder;
  std::string logs = folder.path() + "/logs";
  std::string logged;
  Log log{Log::Level::normal, [this](std::string_view line) { logged += line; }};

  static Plan plan_of(int ranks) {
    Plan plan;
    for (int rank = 0; rank < ranks; ++rank)
      plan.tasks.push_back({.id = {"worker", rank}, .rank = rank});
    plan.tasks.push_back({.id = {"ps", 0}});
    plan.world_size = ranks;
    return plan;
  }
};

TEST_CASE_FIXTURE(FoldersFixture, "TaskFolders: the digits are those of the plan at the start") {
  struct Case {
    int ranks;
    int rank;
    std::string name;
  };
  for (const Case& c : {Case{2, 1, "rank.1"}, Case{2, 10, "rank.10"}, Case{11, 1, "rank.01"},
                        Case{11, 10, "rank.10"}, Case{11, 100, "rank.100"}}) {
    const auto folders = TaskFolders::open("--output-dir", logs, plan_of(c.ranks), log).value();
    const Task task = {.id = {"worker", c.rank}, .rank = c.rank};
    const auto file = folders.make_file(task, "stdout");
    REQUIRE(file.has_value());
    CHECK(file->path == logs + "/" + c.name + "/stdout");
    CHECK(access(file->path.c_str(), F_OK) == 0);
  }
  const auto folders = TaskFolders::open("--output-dir", logs, plan_of(2), log).value();
  CHECK(folders.make_file({.id = {"ps", 0}}, "stderr").value().path == logs + "/ps.0/stderr");
}

TEST_CASE_FIXTURE(FoldersFixture, "TaskFolders puts aside what an earlier job has more") {
  folder.write("logs/rank.2/stdout", "earlier");
  folder.write("logs/rank.1/stdout", "earlier");
  const auto folders = TaskFolders::open("--output-dir", logs, plan_of(2), log).value();
  CHECK(folder.read("logs/rank.2.old/stdout") == "earlier");
  CHECK(logged.find("renamed: rank.2 (to rank.2.old)") != std::string::npos);
  // A later plan of this job has that rank.
  REQUIRE(folders.make_file({.id = {"worker", 2}, .rank = 2}, "stdout"));
  CHECK(folder.read("logs/rank.2/stdout").empty());
  CHECK(folder.read("logs/rank.1/stdout") == "earlier");
}

TEST_CASE_FIXTURE(FoldersFixture, "TaskFolders: errors name the option and the place") {
  folder.write("file", "");
  const auto bad = TaskFolders::open("--result-dir", folder.path() + "/file/x", plan_of(1), log);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().code == Errc::input);
  CHECK(bad.error().message ==
        "--result-dir: cannot make " + folder.path() + "/file/x: Not a directory");
  const auto folders = TaskFolders::open("--output-dir", logs, plan_of(1), log).value();
  folder.write("logs/rank.0", "");
  const auto made = folders.make_file({.id = {"worker", 0}, .rank = 0}, "stdout");
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().message == "--output-dir: " + logs + "/rank.0: this is no folder");
}

TEST_CASE("task_folder_name: by rank, else by role and index") {
  CHECK(task_folder_name({"worker", 3}, 4, 1) == "rank.4");
  CHECK(task_folder_name({"worker", 3}, 4, 2) == "rank.04");
  CHECK(task_folder_name({"worker", 3}, 12, 1) == "rank.12");
  CHECK(task_folder_name({"ps", 0}, -1, 2) == "ps.0");
}

}  // namespace
}  // namespace dt
