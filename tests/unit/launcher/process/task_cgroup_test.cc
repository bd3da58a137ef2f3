#include "launcher/process/task_cgroup.h"

#include "launcher/process/child.h"

#include <doctest/doctest.h>

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dt {
namespace {

TEST_CASE("cgroup_folder finds the line of version 2 among those of version 1") {
  struct Row {
    const char* text;
    std::optional<std::string> folder;
  };
  const Row rows[] = {
      {"0::/\n", "/sys/fs/cgroup"},
      {"0::/user.slice/user-1.slice\n", "/sys/fs/cgroup/user.slice/user-1.slice"},
      {"4:memory:/a\n1:name=systemd:/b\n0::/c d\n", "/sys/fs/cgroup/c d"},
      {"0::/../outside\n", std::nullopt},
      {"4:memory:/a\n", std::nullopt},
      {"", std::nullopt},
      {"0::", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(cgroup_folder(row.text, "/sys/fs/cgroup") == row.folder);
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("TaskCgroup: a process of it cannot leave by setsid and fork, and is killed at once") {
  std::string path;
  {
    const std::unique_ptr<TaskCgroup> cgroup = TaskCgroup::make();
    if (!cgroup) {
      MESSAGE("no cgroup of version 2 is ours to divide here");
      return;
    }
    path = cgroup->path();
    CHECK_FALSE(cgroup->populated());
    Pipe pipe = make_pipe().value();
    Child child =
        Child::start({.path = "/bin/sh",
                      .arguments = {"sh", "-c", "setsid sh -c 'sleep 60 & echo up; wait' & wait"},
                      .environment = {"PATH=/usr/bin:/bin"},
                      .output = pipe.write.get(),
                      .cgroup = cgroup->fd()})
            .value();
    pipe.write.reset();
    char up[3];
    CHECK(::read(pipe.read.get(), up, sizeof up) == 3);
    CHECK(cgroup->populated());
    CHECK(text_of("/proc/" + std::to_string(child.pid()) + "/cgroup").find("dtrain-tasks-") !=
          std::string::npos);
    cgroup->kill();
    // The pipe ends only when all of them have ended.
    CHECK(::read(pipe.read.get(), up, sizeof up) == 0);
    CHECK(child.reap().value() == ExitStatus{.signal = SIGKILL});
    while (cgroup->populated())
      CHECK(poll(nullptr, 0, 1) == 0);
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("TaskCgroup: parts limit the memory of tasks where the controller is ours") {
  const std::unique_ptr<TaskCgroup> cgroup = TaskCgroup::make();
  if (!cgroup) {
    MESSAGE("no cgroup of version 2 is ours to divide here");
    return;
  }
  const auto limited = cgroup->limit_memory({uint64_t{64} << 20, 0});
  CHECK(limited.has_value() == TaskCgroup::can_limit_memory());
  if (!limited) {
    MESSAGE("no memory controller of version 2 is ours here");
    CHECK(limited.error().message.find("cgroup.subtree_control") != std::string::npos);
    CHECK(cgroup->part_fds().empty());
    return;
  }
  CHECK(cgroup->part_fds().size() == 2);
  CHECK(text_of(cgroup->path() + "/task-0/memory.max") == "67108864\n");
  CHECK(text_of(cgroup->path() + "/task-1/memory.max") == "max\n");
}

TEST_CASE("TaskCgroup: its parts are removed with it") {
  std::unique_ptr<TaskCgroup> cgroup = TaskCgroup::make();
  if (!cgroup) {
    MESSAGE("no cgroup of version 2 is ours to divide here");
    return;
  }
  const std::string path = cgroup->path();
  REQUIRE(std::filesystem::create_directory(path + "/task-0"));
  REQUIRE(std::filesystem::create_directory(path + "/task-1"));
  cgroup.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace dt
