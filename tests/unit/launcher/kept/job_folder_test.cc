#include "launcher/kept/job_folder.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace dt {
namespace {

TEST_CASE("jobs_root: the user's state folder, which must be absolute") {
  CHECK(jobs_root({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}).value() == "/s/dtrain/jobs");
  CHECK(jobs_root({{"XDG_STATE_HOME", "s"}, {"HOME", "/h"}}).value() ==
        "/h/.local/state/dtrain/jobs");
  CHECK(jobs_root({{"HOME", ""}}).error().code == Errc::input);
}

TEST_CASE("folders of jobs: numbers of a name go up, and the newest is the first") {
  const TemporaryFolder folder;
  const std::string root = folder.path() + "/deep/jobs";
  CHECK(find_job(root, "").error().message.find("there is no job") == 0);
  CHECK(make_job_folder(root, "mnist").value().id == "mnist-1");
  CHECK(make_job_folder(root, "a-2").value().id == "a-2-1");
  const JobFolder second = make_job_folder(root, "mnist").value();
  CHECK(second.id == "mnist-2");
  CHECK(second.path == root + "/mnist-2");
  struct stat about = {};
  REQUIRE(::stat(second.path.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0700);
  folder.write("deep/jobs/mnist-7/job.toml", "");
  folder.write("deep/jobs/other/job.toml", "");
  folder.write("deep/jobs/mnist-07/job.toml", "");
  const timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  REQUIRE(::utimensat(AT_FDCWD, (root + "/mnist-7/job.toml").c_str(), old, 0) == 0);
  CHECK(make_job_folder(root, "mnist").value().id == "mnist-8");
  const std::vector<JobFolder> all = job_folders(root);
  REQUIRE(all.size() == 5);
  CHECK(all.back().id == "mnist-7");
  CHECK(find_job(root, "").value().id == all.front().id);
  CHECK(find_job(root, "mnist-7").value().path == root + "/mnist-7");
  CHECK(find_job(root, "../jobs/mnist-7").error().code == Errc::input);
  CHECK(find_job(root, "minst-7").error().message.find("did you mean mnist-7?") !=
        std::string::npos);
  CHECK(remove_job_folder(all.back()).has_value());
  CHECK(job_folders(root).size() == 4);
}

TEST_CASE("the lock of a job names its holder, and ends with it") {
  const TemporaryFolder folder;
  const JobFolder job = {.id = "a-1", .path = folder.path()};
  CHECK_FALSE(job_holder(job));
  const Pipe ready = make_pipe().value();
  Pipe end = make_pipe().value();
  const pid_t child = ::fork();
  if (child == 0) {
    end.write.reset();
    const auto lock = lock_job(job);
    char byte = lock ? 'y' : 'n';
    static_cast<void>(write_all(ready.write.get(), std::as_bytes(std::span(&byte, 1))).has_value());
    while (::read(end.read.get(), &byte, 1) > 0) {
    }
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ready.read.get(), &byte, 1) == 1);
  CHECK(byte == 'y');
  CHECK(job_holder(job) == child);
  CHECK_FALSE(lock_job(job));
  end.write.reset();
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(job_holder(job));
}

}  // namespace
}  // namespace dt
