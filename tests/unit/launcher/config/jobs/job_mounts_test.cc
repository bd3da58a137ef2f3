#include "launcher/config/jobs/job_mounts.h"

#include "launcher/config/jobs/job_file.h"
#include "launcher/config/jobs/job_text.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace dt {
namespace {

std::string mounts_error(std::string_view text) {
  const auto read = read_job_file("schema = 1\n" + std::string(text), "job.toml");
  return read ? std::string() : read.error().message;
}

TEST_CASE("the mounts of a job file are options, and their text is the same job") {
  const std::string text = R"(
[[mounts]]
source = "/srv/imagenet"
target = "/data"
read-only = true

[[mounts]]
source = "s3:bucket"
target = "/bucket"
command = "rclone mount s3:bucket {target}"
)";
  const JobFile job = read_job_file("schema = 1\n" + text, "job.toml").value();
  CHECK(job.options.values.at("mount") ==
        std::vector<std::string>{"/srv/imagenet:/data:ro", "s3:bucket:/bucket"});
  CHECK(job.options.values.at("mount-command") ==
        std::vector<std::string>{"/bucket=rclone mount s3:bucket {target}"});
  CHECK(job.options.origins.at("mount") == "job.toml:3:3: mounts");
  CHECK(job_mounts_text(job.options) == text);
  const std::string whole = job_file_text(job.options, {"./train"});
  CHECK(whole.find(text) != std::string::npos);
  CHECK(read_job_file(whole, "job.toml").value().options.values == job.options.values);
  CHECK(job_mounts_text({}).empty());
}

TEST_CASE("inline tables and other spellings of keys are mounts, too") {
  const auto read = read_job_file(
      "schema = 1\nmounts = [{source = '/a', target = '/b', read_only = false}]", "job.toml");
  CHECK(read.value().options.values.at("mount") == std::vector<std::string>{"/a:/b"});
}

TEST_CASE("wrong mounts are refused at their place") {
  struct Case {
    std::string_view text;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {"mounts = 1", "job.toml:2:1: mounts: expected tables [[mounts]], got a whole number"},
      {"mounts = ['/a:/b']", "expected tables [[mounts]], got other values"},
      {"[[mounts]]\nsource = '/a'", "job.toml:3:1: a mount needs a target"},
      {"[[mounts]]\ntarget = '/a'", "job.toml:3:1: a mount needs a source"},
      {"[[mounts]]", "a mount needs a source"},
      {"[[mounts]]\nsource = '/a'\ntarget = 1", "job.toml:4:1: target: expected a string"},
      {"[[mounts]]\nsource = ''\ntarget = '/b'", "job.toml:3:1: source: expected a string, got an"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/'", "job.toml:4:1: the target \"/\" would hide"},
      {"[[mounts]]\nsource = '/a'\ntarget = 'b'", "job.toml:4:1: the target \"b\" is no absolute"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/dev'", "job.toml:4:1: the target \"/dev\" is in"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/b:/c'", "job.toml:4:1: a target has no \":/\""},
      {"[[mounts]]\nsource = 'a'\ntarget = '/b'", "the source \"a\" is no absolute path"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/b'\nread-only = 1", "job.toml:5:1: read-only:"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/b'\nreadonly = true", "did you mean read-only?"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/b'\nx = 1", "its keys are source, target"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/b'\ncommand = 'x'", "job.toml:5:1: the command for"},
      {"[[mounts]]\nsource = '/a'\ntarget = '/b'\n[[mounts]]\nsource = '/c'\ntarget = '/b/'",
       "job.toml:7:1: two mounts have the target /b"},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK(mounts_error(one.text).find(one.message) != std::string::npos);
    INFO(mounts_error(one.text));
  }
}

}  // namespace
}  // namespace dt
