#include "launcher/config/external_cluster.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("--cluster-spec is read in both shapes") {
  const ClusterSpec cluster = {{{"ps", {{0, "c:1"}}}, {"worker", {{0, "a:1"}, {1, "b:1"}}}}};
  for (const char* text :
       {"worker|a:1;b:1,ps|c:1", R"( {"worker": ["a:1", "b:1"], "ps": {"0": "c:1"}})"}) {
    CAPTURE(text);
    CHECK(parse_cluster_option(text, "--cluster-spec").value() ==
          ExternalCluster{.cluster = cluster, .origin = "--cluster-spec"});
  }
}

TEST_CASE("a wrong cluster is refused with its place and field") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "cluster: empty; expected worker|host:port;host:port,ps|host:port"},
      {"worker",
       "cluster: 'worker' has no |; expected worker|host:port;host:port,ps|host:port, in quotes, "
       "since a shell takes an unquoted | or ; for itself"},
      {"worker|a", "cluster: worker[0]: 'a' has no port"},
      {"worker|a:70000", "cluster: worker[0]: 'a:70000' needs a port of 1 to 65535"},
      {"worker|a:1;a:1", "cluster: worker[1]: 'a:1' is also the address of cluster: worker[0]"},
      {"{}", "cluster: it has no tasks"},
      {R"({"worker": []})", "cluster: it has no tasks"},
      {R"({"worker": {"-1": "a:1"}})", "cluster: worker[-1]: an index is a number from 0"},
      {R"({"chief": ["a:1", "b:1"]})", "cluster: 2 tasks of role chief, at most one is allowed"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto given = parse_cluster_option(c.text, "--cluster-spec");
    REQUIRE_FALSE(given);
    CHECK(given.error() == Error{Errc::input, std::string("--cluster-spec: ") + c.message});
  }
  CHECK(parse_cluster_option("{", "x").error().message.starts_with("x: "));
}

TEST_CASE("TF_CONFIG names the task to start") {
  const std::string text =
      R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}})";
  CHECK(cluster_of_tf_config(text).value() ==
        ExternalCluster{.cluster = {{{"worker", {{0, "a:1"}, {1, "b:1"}}}}},
                        .task = TaskId{"worker", 1},
                        .origin = "TF_CONFIG",
                        .tf_config = text});
  CHECK(cluster_of_tf_config(R"({"cluster": {"worker": ["a:1"]}})").error() ==
        Error{Errc::input,
              "TF_CONFIG: task: missing; {\"type\": …, \"index\": …} names the task to start "
              "here; without it, give -np N"});
  CHECK(cluster_of_tf_config("{}").error().message.starts_with("TF_CONFIG: cluster: "));
}

TEST_CASE("an empty TF_CONFIG is none") {
  CHECK_FALSE(found_tf_config({}).has_value());
  CHECK_FALSE(found_tf_config({{"TF_CONFIG", " "}}).has_value());
  CHECK(found_tf_config({{"TF_CONFIG", "{}"}}) == "{}");
}

TEST_CASE("TF_CONFIG of a job of dtrain's own does not count as a scheduler's") {
  CHECK_FALSE(found_tf_config({{"TF_CONFIG", "{}"}, {"DTRAIN_ROLE", "worker"}}).has_value());
}

TEST_CASE("a role that could leave its folder is refused") {
  for (const char* role : {"../x", "a b", "launcher", "rank"}) {
    CAPTURE(role);
    const auto given = parse_cluster_option(std::string(role) + "|h:1", "--cluster-spec");
    REQUIRE_FALSE(given);
    CHECK(given.error().message.starts_with("--cluster-spec: cluster: role "));
  }
  CHECK(cluster_of_tf_config(R"({"cluster": {"/x": ["h:1"]}, "task": {"type": "/x", "index": 0}})")
            .error()
            .message.starts_with("TF_CONFIG: cluster: role "));
}

TEST_CASE("the roles of a sparse cluster have no ranks, and an empty one is none") {
  const auto text_of = [](const char* spec) {
    std::string text;
    for (const Role& role : roles_of(parse_cluster_option(spec, "x").value()))
      text += role.name + "=" + std::to_string(role.count) + (role.ranked ? "* " : " ");
    return text;
  };
  CHECK(text_of(R"({"ps": ["a:1"], "worker": ["b:1", "c:1"], "chief": []})") == "ps=1 worker=2* ");
  CHECK(text_of(R"({"chief": ["a:1"], "worker": {"1": "c:1"}})") == "chief=1 worker=1 ");
  CHECK(text_of(R"({"ps": {"1": "a:1"}, "worker": ["b:1"]})") == "ps=1 worker=1* ");
}

}  // namespace
}  // namespace dt
