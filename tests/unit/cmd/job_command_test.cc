#include "cmd/job_command.h"

#include "base/io/file.h"
#include "cmd/options.h"
#include "launcher/config/jobs/job_file.h"
#include "launcher/config/jobs/job_text.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

namespace dt {
namespace {

using Line = std::vector<std::string>;

/// Where each value was written differs between a command line and a file.
RunConfig without_origins(RunConfig config) {
  for (EnvironmentSetting& setting : config.environment)
    setting.origin = "";
  std::ranges::sort(config.roles, {}, &Role::name);
  std::ranges::sort(config.environment, {}, &EnvironmentSetting::name);
  return config;
}

TEST_CASE("the file of a command line is the same job") {
  const Line lines[] = {
      {"-np", "4", "python", "train.py"},
      {"-np", "16", "-H", "server1:4,server2:4,server3:4,server4:4", "python", "train.py"},
      {"-H", "a:2,b:2", "-H", "c:1", "--map-by", "node", "--", "./train", "--lr=0.1", "a b"},
      {"-np", "2", "-x", "A=1", "-x", "A=\"q\" 'r' $s", "-x", "B", "--env-exclude", "X*", "./x"},
      {"-np", "2", "--timeout", "1h30m", "--grace", "2.5", "--heartbeat", "500ms", "./x"},
      {"-np", "2", "--no-tag", "--quiet", "--merge-stderr", "--timestamp-output", "./x"},
      {"--role", "ps=2,worker=4,chief=1", "--role-command", "ps=sh -c 'echo \"it'\\''s\"'",
       "--role-env", "ps=A=1", "--role-env", "ps=B=x=y", "--restart-role", "ps=always:3", "./x"},
      {"--role", "worker=2@a,b:3", "--role", "other=1@c", "--role-ranked", "other", "./x"},
      {"--role", "ps=1,worker=2", "--strategy", "parameter_server", "--ps-mode", "async",
       "--ps-replicas", "1", "./x"},
      {"-np", "2", "--max-restarts", "3", "--restart-on", "42,128-255", "--spare", "d:4", "-H",
       "a,b,c", "./x"},
      {"-np", "2", "--sync-from", "https://git.example/a.git@main", "--sync-to", "/root/code",
       "--setup", "pip install -r requirements.txt", "--setup", "make", "--fetch", "model/*",
       "--fetch-to", "/tmp/f", "./x"},
      {"--role", "ps=1,worker=2", "--image", "a:1", "--role-image", "ps=b:1", "./x"},
      {"-np", "2", "--success", "all", "--clean", "all", "--on-failure", "continue", "./x"},
      {"-np", "2", "--port-range", "20000-20100", "--ssh-port", "2222", "--report", "/tmp/r.json",
       "--output-dir", "/tmp/o", "--name", "mine", "./x"},
      {"-np", "2", "--cycle-time-ms", "3", "--fusion-threshold-mb", "32", "./x"},
  };
  for (const Line& line : lines) {
    Line words = {"run"};
    words.insert(words.end(), line.begin(), line.end());
    const Invocation typed = parse_command_line(words).value();
    const auto wanted =
        load_run_config({.flags = typed.flags, .command = typed.words, .environment = {"B=2"}});
    const std::string text = job_file_text(typed.flags, typed.words);
    CAPTURE(text);
    REQUIRE(wanted);
    JobFile file = read_job_file(text, "x.toml").value();
    auto config = load_run_config(
        {.flags = {}, .command = file.command, .environment = {"B=2"}, .job = file.options});
    if (!config) FAIL(config.error().message);
    if (!typed.flags.values.contains("name")) config->name.clear();
    CHECK(without_origins(*config) == without_origins(*wanted));
  }
}

TEST_CASE("the command line wins over a job file, and the file over nothing else") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/a.toml";
  REQUIRE(write_new_file(path, "schema = 1\nnp = 2\ncommand = [\"./a\"]\ntimeout = 5\n"));
  const auto decide = [&](const Line& words, std::vector<std::string> environment = {}) {
    const JobWords read = read_job_words(words).value();
    return load_run_config(job_request(read, std::move(environment)).value()).value();
  };
  const RunConfig plain = decide({"run", path});
  CHECK(plain.command == Line{"./a"});
  CHECK(plain.timeout == seconds(5));
  CHECK(plain.name == "a");
  CHECK_FALSE(plain.dry_run);
  const RunConfig changed =
      decide({"run", path, "--timeout", "7", "--name", "b", "--", "./b"}, {"DTRAIN_OPT_NP=3"});
  CHECK(changed.command == Line{"./b"});
  CHECK(changed.timeout == seconds(7));
  CHECK(changed.name == "b");
  CHECK(task_count(changed.roles) == 3);
  CHECK(decide({"check", path}).dry_run);
  CHECK_FALSE(decide({"check", path, "--connect"}).dry_run);
}

TEST_CASE("a job file that cannot be read or written is named") {
  TemporaryFolder folder;
  const auto missing = job_request({.action = JobWords::Action::run, .file = "no/file"}, {});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "job: cannot read \"no/file\": No such file or directory");
  const std::string path = folder.path() + "/a.toml";
  REQUIRE(write_new_file(path, "one"));
  const auto again = write_new_file(path, "two");
  REQUIRE_FALSE(again);
  CHECK(again.error().message == "\"" + path + "\" exists; write to another file, or remove it");
  CHECK(read_text_file(path, 100).value() == "one");
  CHECK_FALSE(write_new_file(folder.path() + "/no/b.toml", "x"));
  CHECK_FALSE(initial_job_file({.flags = {}, .command = {"./x"}}, {}));
  JobWords init = {.action = JobWords::Action::init,
                   .flags = {.values = {{"np", {"1"}}, {"report", {"r"}}}, .origins = {}},
                   .command = {"./x"}};
  CHECK(initial_job_file(init, {"PWD=/"}).value().find("report = \"r\"") != std::string::npos);
  init.file = "jobs/a.toml";
  const std::string here = current_folder({});
  CHECK(initial_job_file(init, {}).value().find("report = \"" + here + "/r\"") !=
        std::string::npos);
}

}  // namespace
}  // namespace dt
