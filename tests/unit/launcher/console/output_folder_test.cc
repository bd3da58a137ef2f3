#include "launcher/console/output_folder.h"

#include "tests/unit/another_user.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace dt {
namespace {

template <class T>
std::string refusal(const Result<T>& result) {
  return result ? "" : result.error().message;
}

struct Fixture {
  TemporaryFolder folder;
  std::string logs = folder.path() + "/logs";
  std::string task = logs + "/rank.0";
  std::string file = task + "/stdout";

  /// Makes a task's file, and returns the error's message; empty: it was made.
  std::string refused() const {
    const OutputFolder own = OutputFolder::open(logs).value().task_folder("rank.0").value();
    return refusal(own.make_file("stdout"));
  }
  std::string cannot_write(const std::string& why) const {
    return "cannot write " + file + ": " + why;
  }
};

TEST_CASE_FIXTURE(
    Fixture, "a folder into which everybody can write is refused unless only owners can replace") {
  REQUIRE(mkdir(logs.c_str(), 0700) == 0);
  for (const mode_t mode : {0700U, 0770U, 01777U}) {
    chmod(logs.c_str(), mode);
    CHECK(refusal(OutputFolder::open(logs)) == "");
  }
  chmod(logs.c_str(), 0777);
  CHECK(refusal(OutputFolder::open(logs)) ==
        logs +
            ": every user of this machine can write into this folder and could replace the files; "
            "use another one, or: chmod o-w " +
            logs);
}

TEST_CASE_FIXTURE(Fixture, "folders of an earlier job's tasks are renamed, and nothing else") {
  const OutputFolder own = OutputFolder::open(logs).value();
  for (const char* name : {"rank.0", "rank.1", "ps.0", "notes"})
    CHECK(own.task_folder(name).value().make_file("stdout").has_value());
  CHECK(own.task_folder("data.5").has_value());  // without output: no task's
  CHECK(own.put_aside_others({"rank.0"}).value() == std::vector<std::string>{"ps.0", "rank.1"});
  CHECK(own.task_folder("rank.1").value().make_file("stdout").has_value());
  CHECK(own.put_aside_others({"rank.0"}).value() == std::vector<std::string>{"rank.1"});
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(logs))
    names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{"data.5", "notes", "ps.0.old", "rank.0", "rank.1.old",
                                       "rank.1.old-2"});
}

TEST_CASE_FIXTURE(Fixture, "folders and their parents are made for their user alone") {
  const auto made = OutputFolder::open(logs + "/deep/er//").value().task_folder("rank.0");
  REQUIRE(made.has_value());
  for (const char* name : {"", "/deep", "/deep/er", "/deep/er/rank.0"}) {
    struct stat about = {};
    REQUIRE(stat((logs + name).c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0700);
  }
}

TEST_CASE_FIXTURE(Fixture, "a link of our own may lead to the folder") {
  REQUIRE(symlink(folder.path().c_str(), logs.c_str()) == 0);
  CHECK(refusal(OutputFolder::open(logs)) == "");
  CHECK(refusal(OutputFolder::open(logs + "/")) == "");
}

TEST_CASE_FIXTURE(Fixture, "a link of another user leads nowhere") {
  REQUIRE(symlink(folder.path().c_str(), logs.c_str()) == 0);
  if (!give_to_another_user(logs)) return;
  const std::string refused = logs +
                              ": this link belongs to another user (uid 65534), who chooses where "
                              "it leads; give the folder itself";
  CHECK(refusal(OutputFolder::open(logs)) == refused);
  CHECK(refusal(OutputFolder::open(logs + "/")) == refused);
}

TEST_CASE_FIXTURE(Fixture, "a link is refused as a task's folder") {
  folder.write("logs/rank.1", "");
  REQUIRE(symlink(folder.path().c_str(), task.c_str()) == 0);
  const OutputFolder base = OutputFolder::open(logs).value();
  CHECK(refusal(base.task_folder("rank.0")) ==
        task + ": a link, where a folder of dtrain's belongs");
  CHECK(refusal(base.task_folder("rank.1")) == logs + "/rank.1: this is no folder");
  CHECK(refusal(base.task_folder("rank.2")) == "");
}

TEST_CASE_FIXTURE(Fixture, "a folder of another user is refused as a task's folder") {
  std::filesystem::create_directories(task);
  if (!give_to_another_user(task)) return;
  CHECK(refusal(OutputFolder::open(logs).value().task_folder("rank.0")) ==
        task +
            ": this folder belongs to another user (uid 65534), who could read and change the "
            "output; remove it, or give another folder");
}

TEST_CASE_FIXTURE(Fixture, "a folder that is replaced later is not written to") {
  const OutputFolder base = OutputFolder::open(logs).value();
  std::filesystem::rename(logs, folder.path() + "/moved");
  folder.write("logs/x", "");
  const OutputFolder own = base.task_folder("rank.0").value();
  REQUIRE(own.make_file("stdout").has_value());
  CHECK(std::filesystem::exists(folder.path() + "/moved/rank.0/stdout"));
  CHECK_FALSE(std::filesystem::exists(task));
}

TEST_CASE_FIXTURE(Fixture, "a file of an earlier job is emptied, and is for its user alone") {
  CHECK(refused() == "");
  struct stat about = {};
  REQUIRE(stat(file.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  folder.write("logs/rank.0/stdout", "old");
  CHECK(refused() == "");
  CHECK(folder.read("logs/rank.0/stdout").empty());
}

TEST_CASE_FIXTURE(Fixture, "a file of another user is refused and keeps what it has") {
  folder.write("logs/rank.0/stdout", "keep", 0666);
  if (!give_to_another_user(file)) return;
  CHECK(refused() == cannot_write("it belongs to another user; remove it, or give another folder"));
  CHECK(folder.read("logs/rank.0/stdout") == "keep");
}

TEST_CASE_FIXTURE(Fixture, "a file with a second name is refused and keeps what it has") {
  folder.write("victim", "keep");
  std::filesystem::create_directories(task);
  REQUIRE(link((folder.path() + "/victim").c_str(), file.c_str()) == 0);
  CHECK(refused() == cannot_write("it is also another file (a hard link); remove it"));
  CHECK(folder.read("victim") == "keep");
}

TEST_CASE_FIXTURE(Fixture, "a link is refused where a file belongs") {
  folder.write("victim", "keep");
  std::filesystem::create_directories(task);
  REQUIRE(symlink((folder.path() + "/victim").c_str(), file.c_str()) == 0);
  CHECK(refused() == cannot_write("it is a symbolic link; remove it"));
  CHECK(folder.read("victim") == "keep");
}

TEST_CASE_FIXTURE(Fixture, "a FIFO is refused at once, with a reader and without") {
  std::filesystem::create_directories(task);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  const std::string refusal =
      cannot_write("it is no regular file; remove it, or give another folder");
  CHECK(refused() == refusal);
  const Fd reader(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  CHECK(refused() == refusal);
}

}  // namespace
}  // namespace dt
