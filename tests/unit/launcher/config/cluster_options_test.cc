#include "launcher/config/cluster_options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr const char* tf_config =
    R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]}, "task": {"type": "ps", "index": 0}})";

OptionSource source_of(OptionValues values, const std::string& prefix = "--") {
  OptionSource source{.values = std::move(values), .origins = {}};
  for (const auto& [name, given] : source.values)
    source.origins[name] = prefix + name;
  return source;
}

Result<std::string> read_file(const std::string& path) {
  if (path == "spec") return std::string("worker|f:1\n");
  return fail(Errc::os, "No such file or directory");
}

Result<RunConfig> decide(const std::vector<OptionSource>& sources,
                         const Environment& environment = {},
                         std::vector<std::string> command = {"train"}) {
  return make_run_config(sources, std::move(command), read_file, environment);
}

/// Returns the origin of the cluster and the job's roles, or the error.
std::string text_of(const Result<RunConfig>& config) {
  if (!config) return config.error().message;
  const std::string from = config->external_cluster ? config->external_cluster->origin : "none";
  return from + " " + roles_text(config->roles);
}

TEST_CASE("a cluster comes from the option, else from TF_CONFIG, unless tasks are counted") {
  const OptionValues spec = {{"cluster-spec", {"worker|x:1"}}};
  const OptionValues none = {{"cluster-spec", {"none"}}};
  const OptionValues np = {{"np", {"3"}}};
  struct Case {
    std::vector<OptionSource> sources;
    bool tf_config;
    const char* decided;
  };
  const Case cases[] = {
      {{source_of(spec)}, false, "--cluster-spec worker=1"},
      {{source_of(spec)}, true, "--cluster-spec worker=1"},
      {{source_of({{"cluster-spec", {"@spec"}}})}, false, "--cluster-spec worker=1"},
      {{}, true, "TF_CONFIG ps=1, worker=2"},
      {{source_of({{"quiet", {"true"}}})}, true, "TF_CONFIG ps=1, worker=2"},
      {{source_of(np)}, true, "none worker=3"},
      {{source_of({{"hosts", {"h:2"}}})}, true, "none worker=0"},
      {{source_of({{"role", {"chief=1"}}})}, true, "none chief=1"},
      {{source_of({{"ppn", {"2"}}})}, true, "none worker=0"},
      {{source_of(none), source_of(np)}, true, "none worker=3"},
      {{source_of(spec), source_of(np)}, false, "--cluster-spec worker=1"},
      {{source_of(np), source_of(spec)}, false, "none worker=3"},
      {{source_of(none)},
       true,
       "-np: missing; without hosts give the number of processes, 1..65536"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.decided);
    const Environment environment =
        c.tf_config ? Environment{{"TF_CONFIG", tf_config}} : Environment();
    CHECK(text_of(decide(c.sources, environment)) == c.decided);
  }
}

TEST_CASE("a cluster and a count in one source contradict each other") {
  const std::pair<const char*, const char*> counts[] = {
      {"np", "2"},  {"role", "ps=1"}, {"hosts", "a"},  {"hostfile", "f"},
      {"ppn", "2"}, {"min-np", "1"},  {"max-np", "4"}, {"host-discovery-script", "./f"}};
  for (const auto& [name, value] : counts) {
    CAPTURE(name);
    CHECK(text_of(decide({source_of({{"cluster-spec", {"worker|x:1"}}, {name, {value}}})})) ==
          std::string("--") + name +
              ": --cluster-spec already has the tasks and their addresses; leave one of them out");
  }
}

TEST_CASE("counted tasks beside a scheduler's TF_CONFIG cause a warning, but not in a nested job") {
  const auto warnings = [](const OptionValues& values, Environment environment) {
    environment["TF_CONFIG"] = tf_config;
    return decide({source_of(values)}, environment).value().warnings;
  };
  CHECK(warnings({{"np", {"1"}}}, {}) ==
        std::vector<std::string>{"TF_CONFIG is ignored, since --np decides what to start "
                                 "(--cluster-spec none: no warning)"});
  CHECK(warnings({{"np", {"1"}}, {"cluster-spec", {"none"}}}, {}).empty());
  CHECK(warnings({{"np", {"1"}}}, {{"DTRAIN_ROLE", "worker"}}).empty());
  CHECK(text_of(decide({}, {{"DTRAIN_ROLE", "worker"}, {"TF_CONFIG", tf_config}}))
            .starts_with("-np: missing"));
}

TEST_CASE("an error names its place, and mentions quotes where a shell has cut the cluster") {
  CHECK(text_of(decide({}, {{"TF_CONFIG", R"({"cluster": {"worker": ["a"]}})"}})) ==
        "TF_CONFIG: cluster: worker[0]: 'a' has no port\n"
        "(-np N starts so many instead, --cluster-spec none ignores it)");
  CHECK(text_of(decide({source_of({{"cluster-spec", {"@nowhere"}}})})) ==
        "--cluster-spec: cannot read \"nowhere\": No such file or directory");
  CHECK(text_of(decide({source_of({{"cluster-spec", {"@"}}})})) ==
        "--cluster-spec: expected a file, got \"@\"");
  CHECK(text_of(decide({source_of({{"cluster-spec", {std::string("@spec\0x", 7)}}})})) ==
        "--cluster-spec: expected a file, got \"@spec\\x00x\"");
  CHECK(text_of(decide({source_of({{"cluster-spec", {"worker"}}})}, {}, {}))
            .starts_with("--cluster-spec: cluster: 'worker' has no |"));
  const std::string cut = text_of(decide({source_of({{"cluster-spec", {"worker|a:1"}}})}, {}, {}));
  CHECK(cut.starts_with("no command given\n"));
  CHECK(cut.ends_with("\nWithout quotes a shell takes each | and ; for itself."));
}

TEST_CASE("roles of a cluster have commands and environments of their own, as others have") {
  const auto config = decide({source_of({{"cluster-spec", {"worker|a:1,ps|b:1,evaluator|c:1"}},
                                         {"role-command", {"ps=serve"}},
                                         {"role-env", {"worker=A=1"}},
                                         {"role-ranked", {"ps"}}})});
  REQUIRE(config);
  const Role& ps = *find_role(config->roles, "ps");
  CHECK(ps.command == std::vector<std::string>{"serve"});
  CHECK(ps.ranked);
  CHECK(ps.environment == Environment{{"CUDA_VISIBLE_DEVICES", ""}});
  CHECK(find_role(config->roles, "worker")->environment == Environment{{"A", "1"}});
  CHECK(config->hosts.empty());
  // Another host's dtrain has the command of its roles.
  CHECK(decide({source_of({{"cluster-spec", {"worker|a:1,ps|b:1"}}, {"role-command", {"ps=x"}}})},
               {}, {}));
  CHECK(text_of(decide({source_of({{"cluster-spec", {"worker|a:1"}}, {"role-env", {"ps=A=1"}}})}))
            .find("the job has no role \"ps\"") != std::string::npos);
}

}  // namespace
}  // namespace dt
