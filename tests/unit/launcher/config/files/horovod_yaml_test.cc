#include "launcher/config/files/horovod_yaml.h"

#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("YAML is recognised by its name or its first entry") {
  for (const char* text : {"params:\n  a: 1\n", "# c\n\n---\nx\n", "verbose: true\n"}) {
    CAPTURE(text);
    CHECK(is_yaml(text, "job"));
  }
  for (const char* text : {"", "# params:\n", "np = 4\n", "[a]\nb: 1\n", "\"a:b\" = 1\n", "a:b\n",
                           "chdir = \"a: b\"\n", ": 1\n"}) {
    CAPTURE(text);
    CHECK_FALSE(is_yaml(text, "job.toml"));
  }
  CHECK(is_yaml("np = 4\n", "job.yaml"));
  CHECK(is_yaml("", "job.yml"));
}

TEST_CASE("the error has the whole file as TOML") {
  const std::string first =
      "\"job.yaml\" is YAML, as horovodrun reads it; the same as a dtrain.toml:\n";
  const std::pair<const char*, std::string> cases[] = {
      {"", "\"job.yaml\" is YAML; dtrain reads TOML, with lines such as: np = 4"},
      {"unknown: 1\n", "\"job.yaml\" is YAML; dtrain reads TOML, with lines such as: np = 4"},
      {"num-proc: 4\n", first + "np = 4"},
      {"controller: gloo\nverbose: yes # a lot\nother: 1\n",
       first + "gloo = true\nverbose = true\n# other: no option of dtrain"},
      {"params:\n  fusion_threshold_mb: 32\n  cycle-time-ms: 3.5\n  new: 1\n"
       "timeline:\n  filename: 't.json'\n",
       first + "fusion-threshold-mb = 32\ncycle-time-ms = 3.5\n"
               "# params: new: no option of dtrain\ntimeline-filename = \"t.json\""},
      {"autotune:\n  enabled: True\n  log_file: a\nlogging:\n  level: INFO\n"
       "stall_check:\n  enabled: false\nlibrary_options:\n  num_nccl_streams: 2\n",
       first + "autotune = true\nautotune-log-file = \"a\"\nlog-level = \"INFO\"\n"
               "stall-check = false\nnum-nccl-streams = 2"},
  };
  for (const auto& [text, answer] : cases) {
    CAPTURE(text);
    CHECK(yaml_error(text, "job.yaml") == answer);
  }
}

TEST_CASE("every key that horovodrun reads has its TOML key") {
  struct Row {
    const char* section;
    const char* entry;
    const char* line;
  };
  const Row rows[] = {
      {"params", "fusion_threshold_mb: 32", "fusion-threshold-mb = 32"},
      {"params", "cycle_time_ms: 3.5", "cycle-time-ms = 3.5"},
      {"params", "cache_capacity: 0", "cache-capacity = 0"},
      {"params", "hierarchical_allreduce: true", "hierarchical-allreduce = true"},
      {"params", "hierarchical_allgather: False", "hierarchical-allgather = false"},
      {"params", "torus_allreduce: true", "torus-allreduce = true"},
      {"autotune", "enabled: true", "autotune = true"},
      {"autotune", "log_file: a.csv", "autotune-log-file = \"a.csv\""},
      {"autotune", "warmup_samples: 5", "autotune-warmup-samples = 5"},
      {"autotune", "steps_per_sample: 6", "autotune-steps-per-sample = 6"},
      {"autotune", "bayes_opt_max_samples: 7", "autotune-bayes-opt-max-samples = 7"},
      {"autotune", "gaussian_process_noise: 0.5", "autotune-gaussian-process-noise = 0.5"},
      {"timeline", "filename: t.json", "timeline-filename = \"t.json\""},
      {"timeline", "mark_cycles: true", "timeline-mark-cycles = true"},
      {"stall_check", "enabled: false", "stall-check = false"},
      {"stall_check", "warning_time_seconds: 8", "stall-check-warning-time-seconds = 8"},
      {"stall_check", "shutdown_time_seconds: 9", "stall-check-shutdown-time-seconds = 9"},
      {"library_options", "mpi_threads_disable: true", "mpi-threads-disable = true"},
      {"library_options", "num_nccl_streams: 2", "num-nccl-streams = 2"},
      {"library_options", "thread_affinity: 1", "thread-affinity = \"1\""},
      {"library_options", "gloo_timeout_seconds: 60", "gloo-timeout-seconds = 60"},
      {"logging", "level: INFO", "log-level = \"INFO\""},
      {"logging", "with_timestamp: false", "log-with-timestamp = false"},
  };
  for (const Row& row : rows) {
    const std::string entry = row.entry;
    const std::string answer =
        yaml_error(std::string(row.section) + ":\n  " + entry + "\n", "job.yaml");
    CHECK(split(answer, '\n').back() == row.line);
  }
}

}  // namespace
}  // namespace dt
