#include "launcher/config/jobs/job_file.h"

#include "launcher/config/config.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

#include <utility>

namespace dt {
namespace {

TEST_CASE("a job file gives the options and the command of a job") {
  const JobFile job = read_job_file(R"(schema = 1
name = "mnist-ps"
command = ["python", "train.py", "two words"]
timeout = "2h"
max_restarts = 3
env = { A = "x=y", N = 4 }
pass_env = ["TOKEN"]
outputs = ["model/*"]
setup = ["pip install -r requirements.txt"]
hosts = ["a:2", "b:2"]
output-dir = "runs/{name}"
report = "/tmp/report"

[roles.worker]
replicas = 2
[roles.ps]
replicas = 1
hosts = ["a"]
command = "python ps.py; echo \"it's over\""
restart = "on-failure:2"
env = { B = "1" }
[roles.other]
replicas = 1
ranked = true
restart = "no"

[code]
repo = "https://git.example/ml.git"
ref = "main"
target = "/root/code"
user = "me"
token_env = "GIT_TOKEN"
exclude = ["*.bin", "data"]
)",
                                    "jobs/mnist.toml")
                          .value();
  CHECK(job.command == std::vector<std::string>{"python", "train.py", "two words"});
  CHECK(job.options.values ==
        OptionValues{{"env", {"A=x=y", "N=4", "TOKEN"}},
                     {"fetch", {"model/*"}},
                     {"fetch-to", {"jobs/."}},
                     {"hosts", {"a:2", "b:2"}},
                     {"max-restarts", {"3"}},
                     {"name", {"mnist-ps"}},
                     {"output-dir", {"jobs/runs/{name}"}},
                     {"report", {"/tmp/report"}},
                     {"restart-role", {"ps=on-failure:2"}},
                     {"role", {"worker=2", "ps=1@a", "other=1"}},
                     {"role-command", {R"(ps=sh -c 'python ps.py; echo "it'\''s over"')"}},
                     {"role-env", {"ps=B=1"}},
                     {"role-ranked", {"other"}},
                     {"setup", {"pip install -r requirements.txt"}},
                     {"sync-exclude", {"*.bin", "data"}},
                     {"sync-from", {"https://git.example/ml.git@main"}},
                     {"sync-to", {"/root/code"}},
                     {"sync-token-env", {"GIT_TOKEN"}},
                     {"sync-user", {"me"}},
                     {"timeout", {"2h"}}});
  CHECK(job.options.origins.at("timeout") == "jobs/mnist.toml:4:1: timeout");
}

TEST_CASE("a job file's name is that of the file, and its paths begin at its folder") {
  const auto read = [](std::string_view text, std::string_view path) {
    return read_job_file("schema = 1\n" + std::string(text), path).value().options.values;
  };
  CHECK(read("", "a/train.2.toml").at("name").front() == "train.2");
  CHECK(read("", "/x/two words.toml").at("name").front() == "job");
  CHECK(read("", "plain").at("name").front() == "plain");
  CHECK(read("[code]\n", "job.toml").at("sync-from").front() == ".");
  CHECK(read("[code]\n", "a/job.toml").at("sync-from").front() == "a/.");
  CHECK(read("[code]\npath = \"..\"\n", "a/job.toml").at("sync-from").front() == "a/..");
  CHECK(read("chdir = \"b\"", "a/job.toml").at("chdir").front() == "a/b");
  // Within a copy of the code, a folder belongs to the copy.
  CHECK(read("chdir = \"b\"\n[code]\n", "a/job.toml").at("chdir").front() == "b");
  CHECK(read("hostfile = \"/b\"", "a/job.toml").at("hostfile").front() == "/b");
  CHECK(read("sync_from = \"b\"", "a/job.toml").at("sync-from").front() == "a/b");
  CHECK(read("sync-from = \"https://h/b\"", "a/job.toml").at("sync-from").front() == "https://h/b");
  CHECK(read("[code]\ntoken-file = \"t\"", "a/job.toml").at("sync-token-file").front() == "a/t");
  CHECK(read("hosts = \"@h\"\nspare = \"@/h\"", "a/job.toml").at("hosts").front() == "@a/h");
  CHECK(read("spare = \"@/h\"", "a/job.toml").at("spare").front() == "@/h");
  CHECK(read("env-file = [\"one\", \"/two\"]", "a/job.toml").at("env-file") ==
        std::vector<std::string>{"a/one", "/two"});
}

TEST_CASE("an image is a text that is not empty") {
  for (const std::string value : {"1", "''", "['a']"}) {
    CAPTURE(value);
    CHECK(!read_job_file("schema = 1\n[roles.ps]\nreplicas = 1\nimage = " + value, "j.toml"));
  }
  const std::string text = "schema = 1\nimage = 'a'\n[roles.ps]\nreplicas = 1\nimage = 'b'\n";
  const OptionValues values = read_job_file(text, "j.toml").value().options.values;
  CHECK(values.at("image").front() == "a");
  CHECK(values.at("role-image").front() == "ps=b");
}

TEST_CASE("a job file's faults are named with line, column and a caret") {
  const std::pair<std::string, std::string> cases[] = {
      {"schema = 2", "j.toml:1:1: schema: this dtrain reads job files of schema = 1 only"},
      {"schema = \"1\"", "j.toml:1:1: schema: this dtrain reads job files of schema = 1 only"},
      {"np = 1", "j.toml: is no job file, which has a line: schema = 1"},
      {"comand = \"x\"", "j.toml:1:1: unknown key \"comand\" in the job; did you mean command?"},
      {"max_restart = 1", "j.toml:1:1: unknown option \"max-restart\"; did you mean max-restarts?"},
      {"max_restarts = 1\nmax-restarts = 2",
       "j.toml:2:1: \"max-restarts\" is defined twice, with - and with _"},
      {"timeout = true",
       "j.toml:1:1: timeout: expected a duration such as \"30s\", or a number of seconds, got true "
       "or false"},
      {"command = []",
       "j.toml:1:1: command: expected a string or an array of strings, got an empty one"},
      {"command = 3",
       "j.toml:1:1: command: expected a string or an array of strings, got a whole number"},
      {"command = [\"a\", 1]",
       "j.toml:1:1: command: expected a string or an array of strings, got an array"},
      {"command = \"\"", "j.toml:1:1: command: expected a program first"},
      {"env = {A = true}", "j.toml:1:8: A: expected a string for the variable, got true or false"},
      {"env = {\"A=B\" = \"x\"}", "j.toml:1:8: expected the name of a variable, got \"A=B\""},
      {"pass-env = [\"A=1\"]", "j.toml:1:1: pass-env: names variables; values are those of env"},
      {"[roles.worker]\nreplicas = 1\nranked = false",
       "j.toml:3:1: ranked: the role worker always has ranks"},
      {"[code]\nrepo = \"folder\"",
       "j.toml:2:1: repo: expected the URL of a git repository; a folder here is a path"},
      {"[code]\npath = \"https://h/r\"",
       "j.toml:2:1: path: expected a folder here; a URL is a repo"},
      {"env = 4", "j.toml:1:1: env: expected a string or an array of strings, got a whole number"},
      {"pass_env = 1",
       "j.toml:1:1: pass_env: expected a string or an array of strings, got a whole number"},
      {"roles = 1", "j.toml:1:1: roles: expected a table, such as [roles], got a whole number"},
      {"[roles]\nps = 1", "j.toml:2:1: ps: expected a table, such as [ps], got a whole number"},
      {"[roles.ps]\n", "j.toml:1:8: [roles.ps] has no replicas; add: replicas = 1"},
      {"[roles.ps]\nreplicas = 0", "j.toml:2:1: replicas: expected a whole number from 1, got 0"},
      {"[roles.ps]\nreplicas = \"two\"",
       "j.toml:2:1: replicas: expected a whole number from 1, got a string"},
      {"[roles.ps]\nreplica = 1",
       "j.toml:2:1: unknown key \"replica\" in [roles.ps]; did you mean replicas?"},
      {"[roles.ps]\nreplicas = 1\nranked = 1", "j.toml:3:1: ranked: expected true or false"},
      {"[roles.ps]\nreplicas = 1\nrestart = 1",
       "j.toml:3:1: restart: expected a string, got a whole number"},
      {"[roles.ps]\nreplicas = 1\nenv = 1",
       "j.toml:3:1: env: expected a table, such as [env], got a whole number"},
      {"[roles.ps]\nreplicas = 1\nhosts = []",
       "j.toml:3:1: hosts: expected a string or an array of strings, got an empty one"},
      {"[code]\npath = \".\"\nrepo = \"https://a/b\"",
       "j.toml:3:1: [code] has a path and a repo; leave one of them out"},
      {"[code]\nref = \"main\"", "j.toml:2:1: ref: needs a repo, whose commit it names"},
      {"[code]\npath = \"a\"\nref = \"main\"",
       "j.toml:3:1: ref: needs a repo, whose commit it names"},
      {"[code]\nrepo = \"\"", "j.toml:2:1: repo: expected a string, got an empty one"},
      {"[code]\nbranch = \"x\"",
       "j.toml:2:1: unknown key \"branch\" in [code]; its keys are ref, path, repo, target, user, "
       "token-env, token-file, exclude, include"},
      {"[code", "j.toml:1:6: "},
  };
  for (const auto& [text, message] : cases) {
    const bool lacks_schema = text == "np = 1" || text.starts_with("schema");
    const auto job = read_job_file(lacks_schema ? text : text + "\n", "j.toml");
    CAPTURE(text);
    REQUIRE_FALSE(job);
    CHECK(job.error().code == Errc::input);
    CHECK(job.error().message.starts_with(message));
    const bool has_caret = job.error().message.ends_with("^");
    CHECK(has_caret == (text != "np = 1"));
  }
  CHECK_FALSE(read_job_file("schema = 1\n[roles.\"a=b\"]\nreplicas = 1", "j.toml"));
}

}  // namespace
}  // namespace dt
