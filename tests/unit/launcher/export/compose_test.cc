#include "launcher/export/compose.h"

#include "base/format.h"
#include "tests/unit/launcher/export/fixture.h"

#include <algorithm>

namespace dt {
namespace {

std::string text_of(std::string_view job) {
  return compose_file(exported_job(job)).value().text;
}

bool has_line(const std::string& text, std::string_view line) {
  return ("\n" + text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

constexpr std::string_view whole_job = R"(
command = ["python", "train.py", "--lr=1e-3"]
image = "reg/train:v1"
grace = "20s"
env_set = ["none", "tf"]
env = { NOTE = "a $HOME" }
pass_env = ["TOKEN"]
[code]
path = "."
target = "/root/code"
[roles.chief]
replicas = 1
[roles.ps]
replicas = 1
restart = "always"
)";

constexpr std::string_view whole_file =
    R"(# The job of mnist.toml, for docker compose on one machine. Start it:
#   docker compose -f FILE up --exit-code-from chief-0
# Not expressed here:
# - the rendezvous of dtrain run, by which programs of libdtrain, Horovod and MPI meet
services:
  chief-0:
    image: "reg/train:v1"
    hostname: chief-0
    command: [python, train.py, "--lr=1e-3"]
    working_dir: /root/code
    environment:
      DTRAIN_CODE_DIR: /root/code
      DTRAIN_CROSS_RANK: "0"
      DTRAIN_CROSS_SIZE: "1"
      DTRAIN_HOSTNAME: chief-0
      DTRAIN_JOB_ID: mnist
      DTRAIN_LOCAL_RANK: "0"
      DTRAIN_LOCAL_SIZE: "1"
      DTRAIN_NNODES: "1"
      DTRAIN_NODE_RANK: "0"
      DTRAIN_RANK: "0"
      DTRAIN_ROLE: chief
      DTRAIN_SIZE: "1"
      DTRAIN_TASK_INDEX: "0"
      NOTE: "a $$HOME"
      PYTHONUNBUFFERED: "1"
      TF_CONFIG: '{"cluster":{"chief":["chief-0:2222"],"ps":["ps-0:2222"]},"task":{"type":"chief","index":0}}'
      TF_GRPC_REUSE_PORT: "1"
      TOKEN: null
    volumes:
      - type: bind
        source: /home/me/tree
        target: /root/code
        read_only: true
    init: true
    restart: "no"
    stop_grace_period: "30s"
  ps-0:
    image: "reg/train:v1"
    hostname: ps-0
    command: [python, train.py, "--lr=1e-3"]
    working_dir: /root/code
    environment:
      CUDA_VISIBLE_DEVICES: ""
      DTRAIN_CODE_DIR: /root/code
      DTRAIN_HOSTNAME: ps-0
      DTRAIN_JOB_ID: mnist
      DTRAIN_ROLE: ps
      DTRAIN_TASK_INDEX: "0"
      NOTE: "a $$HOME"
      PYTHONUNBUFFERED: "1"
      TF_CONFIG: '{"cluster":{"chief":["chief-0:2222"],"ps":["ps-0:2222"]},"task":{"type":"ps","index":0}}'
      TF_GRPC_REUSE_PORT: "1"
      TOKEN: null
    volumes:
      - type: bind
        source: /home/me/tree
        target: /root/code
        read_only: true
    init: true
    restart: always
    stop_grace_period: "30s"
)";

TEST_CASE("a job becomes a service a task") {
  CHECK(text_of(whole_job) == whole_file);
}

TEST_CASE("the comment at the top ends the job with the task that decides, or with all") {
  const std::string both = text_of("command = 'x'\nimage = 'i'\nnp = 2\n");
  CHECK(has_line(both, "#   docker compose -f FILE up --exit-code-from worker-0"));
  CHECK(has_line(both, "#   docker compose -f FILE up --abort-on-container-failure"));
  for (const char* const roles : {"[roles.chief]\nreplicas = 1\n[roles.worker]\nreplicas = 2\n",
                                  "[roles.worker]\nreplicas = 2\n[roles.ps]\nreplicas = 1\n",
                                  "[roles.worker]\nreplicas = 1\n"}) {
    CAPTURE(roles);
    const std::string text = text_of("command = 'x'\nimage = 'i'\n" + std::string(roles));
    CHECK(text.find("--exit-code-from ") != std::string::npos);
    CHECK(text.find("--abort-on-container-failure") == std::string::npos);
  }
}

TEST_CASE("the time for a container's end is the grace and ten seconds, in whole seconds") {
  CHECK(
      has_line(text_of("command = 'x'\nimage = 'i'\nnp = 1\n"), "    stop_grace_period: \"20s\""));
  CHECK(has_line(text_of("command = 'x'\nimage = 'i'\nnp = 1\ngrace = '1500ms'\n"),
                 "    stop_grace_period: \"12s\""));
}

TEST_CASE("a restart rule becomes the one that containers have") {
  struct Case {
    const char* role;
    const char* restart;
    const char* line;
    bool warned;
  };
  const Case cases[] = {{"worker", "no", "    restart: \"no\"", false},
                        {"worker", "on-failure", "    restart: on-failure", false},
                        {"ps", "on-failure:3", "    restart: \"on-failure:3\"", false},
                        {"ps", "always", "    restart: always", false},
                        {"ps", "always:2", "    restart: always", false},
                        {"worker", "always", "    restart: on-failure", true},
                        {"worker", "always:2", "    restart: \"on-failure:2\"", true},
                        {"evaluator", "always", "    restart: on-failure", true}};
  for (const Case& one : cases) {
    CAPTURE(one.role);
    CAPTURE(one.restart);
    const Exported exported =
        compose_file(exported_job(format("command = 'x'\nimage = 'i'\n[roles.chief]\nreplicas = 1\n"
                                         "[roles.{}]\nreplicas = 1\nrestart = '{}'\n",
                                         one.role, one.restart)))
            .value();
    CHECK(has_line(exported.text, one.line));
    CHECK(exported.warnings.size() == (one.warned ? 1U : 0U));
    const bool limited = std::ranges::any_of(exported.left_out, [](const std::string& left) {
      return left.starts_with("the limit of 2 restarts");
    });
    CHECK(limited == (std::string_view(one.restart) == "always:2" && !one.warned));
  }
}

TEST_CASE("all that compose cannot express is named") {
  const auto left_out = [](std::string_view more) {
    std::vector<std::string> all =
        compose_file(exported_job("command = 'x'\nimage = 'i'\n" + std::string(more)))
            .value()
            .left_out;
    std::string text;
    for (const std::string& one : all)
      text += one + "\n";
    return text;
  };
  CHECK(left_out("np = 1\n") == "");
  CHECK(left_out("np = 1\nno-tag = true\nssh-port = 22\n") == "");
  CHECK(left_out("np = 1\ntimeout = '1h'\nmax-restarts = 2\n") ==
        "the options timeout, max-restarts\n");
  CHECK(left_out("np = 1\nhosts = ['a:1']\n") ==
        "the hosts, since compose starts all containers on one machine\n");
  CHECK(left_out("np = 2\n") ==
        "the rendezvous of dtrain run, by which programs of libdtrain, Horovod and MPI meet\n"
        "the success of 2 tasks together, since up ends with the first container that exits\n");
  CHECK(left_out("np = 1\nchdir = 'below'\n") ==
        "the folder below of this machine, since no [code] is mounted\n");
  CHECK(left_out("np = 1\n[code]\nrepo = 'https://me@git.example/a.git'\nref = 'main'\n") ==
        "the code of https://git.example/a.git, which the image must have\n");
}

TEST_CASE("a folder of the code is the working folder, and results can be written there") {
  const std::string text = text_of(
      "command = 'x'\nimage = 'i'\nnp = 1\nchdir = 'sub'\noutputs = 'model'\n[code]\npath = '.'\n");
  CHECK(has_line(text, "    working_dir: /code/sub"));
  CHECK(has_line(text, "        read_only: false"));
  CHECK(has_line(text_of("command = 'x'\nimage = 'i'\nnp = 1\nchdir = '/data'\n"),
                 "    working_dir: /data"));
}

TEST_CASE("a rank that sees its GPU alone gets it from compose") {
  const std::string text = text_of("command = 'x'\nimage = 'i'\nnp = 2\ngpu-bind = 'rank'\n");
  CHECK(text.find(R"(    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              device_ids: ["1"]
              capabilities: [gpu]
)") != std::string::npos);
}

TEST_CASE("resources and mounts of a job are those of its containers") {
  const std::string text = text_of(
      "command = 'x'\nimage = 'i'\n[roles.worker]\nreplicas = 3\n"
      "resources = { cpus = 2, gpus = 0.5, memory = '1G' }\n[roles.ps]\nreplicas = 1\n"
      "resources = { gpus = 0 }\n[roles.evaluator]\nreplicas = 1\nresources = { gpus = 2 }\n"
      "[[mounts]]\nsource = '/data'\ntarget = '/mnt/a$b'\nread-only = true\n"
      "[[mounts]]\nsource = 'nfs://s/e'\ntarget = '/e'\n");
  CHECK(has_line(text, "# - the mount of nfs://s/e at /e"));
  CHECK(has_line(text, "    cpus: \"2\""));
  CHECK(has_line(text, "    mem_limit: \"1073741824b\""));
  CHECK(text.find("source: /data\n        target: \"/mnt/a$$b\"\n        read_only: true\n") !=
        std::string::npos);
  std::vector<std::string> gpus;
  for (size_t at = text.find("device_ids: "); at != std::string::npos;
       at = text.find("device_ids: ", at + 1))
    gpus.push_back(text.substr(at + 12, text.find('\n', at) - at - 12));
  CHECK(gpus == std::vector<std::string>{"[\"0\"]", "[\"0\"]", "[\"1\"]", "[\"2\", \"3\"]"});
}

TEST_CASE("a role without an image is an error that names the line to add") {
  const auto refused = compose_file(exported_job("command = 'x'\nnp = 1\n"));
  REQUIRE(!refused);
  CHECK(refused.error().message ==
        "role worker: a container needs an image; add image = \"NAME:TAG\" to the file, there or "
        "in [roles.worker], or give --image NAME:TAG");
}

TEST_CASE("bytes that YAML cannot hold are an error") {
  ExportJob job = exported_job("command = 'x'\nimage = 'i'\nnp = 1\n");
  job.config.command = {"x", "\xff"};
  CHECK(!compose_file(job));
}

}  // namespace
}  // namespace dt
