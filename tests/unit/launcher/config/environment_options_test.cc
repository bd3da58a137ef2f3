#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

TEST_CASE("-x stands behind --env-file, so that it wins over it") {
  const RunConfig config = decide({flags({{"np", {"1"}},
                                          {"env", {"A=typed"}},
                                          {"env-file", {"a.env"}},
                                          {"env-exclude", {"AWS_*"}}})})
                               .value();
  CHECK(config.environment == std::vector<EnvironmentSetting>{{"A", "file", "a.env:1:1"},
                                                              {"B", "\"x\"", "a.env:2:1"},
                                                              {"A", "typed", "-x"}});
  CHECK(config.environment_excluded == std::vector<std::string>{"AWS_*"});
}

TEST_CASE("--env-set adds to the default sets, or with none chooses all of them") {
  struct Row {
    std::vector<std::string> words;
    EnvSets sets;
  };
  EnvSets with_slurm = default_env_sets();
  with_slurm.insert(EnvSet::slurm);
  const Row rows[] = {{{"torch"}, default_env_sets()},
                      {{"jax"}, with_slurm},
                      {{"none"}, {}},
                      {{"tf,none"}, {EnvSet::tf}},
                      {{"none", "horovod, ompi"}, {EnvSet::horovod, EnvSet::ompi}}};
  for (const Row& row : rows) {
    CAPTURE(row.words.front());
    CHECK(decide({flags({{"np", {"1"}}, {"env-set", row.words}})}).value().env_sets == row.sets);
  }
  CHECK(
      error_of(decide({flags({{"np", {"1"}}, {"env-set", {"torch,jaxx"}}})})) ==
      "--env-set: expected none, torch, tf, horovod, jax, ompi, dmlc or paddle, got \"jaxx\"; did "
      "you mean jax?");
  CHECK(error_of(decide({flags({{"np", {"1"}}, {"env-set", {""}}})})) ==
        "--env-set: expected none, torch, tf, horovod, jax, ompi, dmlc or paddle, got \"\"");
}

TEST_CASE("dmlc is refused to a job without one scheduler, servers and workers") {
  const auto error = [](const char* roles) {
    return error_of(decide({flags({{"role", {roles}}, {"env-set", {"none,dmlc"}}})}));
  };
  CHECK(error("scheduler=1,server=2,worker=2") == "accepted");
  CHECK(error("worker=2") ==
        "--env-set: dmlc: its jobs have a scheduler, servers and workers; add --role scheduler=1 "
        "--role server=N");
  CHECK(error("scheduler=1,chief=1,server=1") ==
        "--env-set: dmlc: its jobs have a scheduler, servers and workers; add --role worker=N");
  CHECK(error("scheduler=2,server=2,worker=2") ==
        "--env-set: dmlc: scheduler=2: its jobs have one; use scheduler=1");
}

TEST_CASE("B28: invalid variables are refused") {
  const std::string huge = "BIG=" + std::string(131068, 'x');
  const Refusal cases[] = {
      {{{"np", {"1"}}, {"env", {"=1"}}}, "-x: expected NAME or NAME=VALUE, got \"=1\""},
      {{{"np", {"1"}}, {"env", {""}}}, "-x: expected NAME or NAME=VALUE, got \"\""},
      {{{"np", {"1"}}, {"env", {"A\0=1"s}}}, "-x: \"A\\x00=1\": a variable cannot hold a NUL byte"},
      {{{"np", {"1"}}, {"env", {huge}}},
       "-x: BIG=xxxxxxxx… takes 131072 bytes; a variable can have 131071"},
      {{{"np", {"1"}}, {"env-file", {"bad.env"}}},
       "bad.env:2:7: expected NAME=VALUE without blanks in the name, got \"export B\""},
      {{{"np", {"1"}}, {"env-file", {"a.env", "gone"}}},
       "--env-file: cannot read \"gone\": No such file or directory"},
      {{{"np", {"1"}}, {"env-file", {""}}}, "--env-file: expected a file, got \"\""},
      {{{"np", {"1"}}, {"env-exclude", {""}}},
       "--env-exclude: expected a pattern of names, got \"\""},
  };
  expect_refused(cases);
}

}  // namespace
}  // namespace dt
