#include "base/text.h"
#include "launcher/config/horovod_yaml.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("YAML is told from TOML by its name or its first entry") {
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

TEST_CASE("the answer names the TOML key of each entry, in at most four lines") {
  const std::string first =
      "\"job.yaml\" is YAML, as horovodrun reads it; dtrain reads TOML, with these keys:\n";
  const std::pair<const char*, std::string> cases[] = {
      {"", "\"job.yaml\" is YAML; dtrain reads TOML, with lines such as: np = 4"},
      {"unknown: 1\n", "\"job.yaml\" is YAML; dtrain reads TOML, with lines such as: np = 4"},
      {"num-proc: 4\n", first + "  num-proc  ->  np = 4"},
      {"controller: gloo\nverbose: yes # a lot\n",
       first + "  controller  ->  gloo = true\n  verbose  ->  verbose = true"},
      {"params:\n  fusion_threshold_mb: 32\n  cycle-time-ms: 3.5\n"
       "timeline:\n  filename: 't.json'\n",
       first + "  params: fusion_threshold_mb  ->  fusion-threshold-mb = 32\n"
               "  params: cycle-time-ms  ->  cycle-time-ms = 3.5\n"
               "  timeline: filename  ->  timeline-filename = \"t.json\""},
      {"autotune:\n  enabled: True\n  log_file: a\nlogging:\n  level: INFO\n"
       "stall_check:\n  enabled: false\nlibrary_options:\n  num_nccl_streams: 2\n",
       first + "  autotune: enabled  ->  autotune = true\n"
               "  autotune: log_file  ->  autotune-log-file = \"a\"\n"
               "  and 3 more, each under the name of its option (see: dtrain help run)"},
      {"logging:\n  level: INFO\nstall_check:\n  warning_time_seconds: 30\n",
       first + "  logging: level  ->  log-level = \"INFO\"\n"
               "  stall_check: warning_time_seconds  ->  stall-check-warning-time-seconds = 30"},
  };
  for (const auto& [text, answer] : cases) {
    CAPTURE(text);
    CHECK(yaml_answer(text, "job.yaml") == answer);
    CHECK(split(yaml_answer(text, "job.yaml"), '\n').size() <= 4);
  }
}

}  // namespace
}  // namespace dt
