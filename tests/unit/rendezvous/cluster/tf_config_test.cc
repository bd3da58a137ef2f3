#include "rendezvous/cluster/tf_config.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a scheduler's value is read by TensorFlow's rules") {
  struct Case {
    const char* text;
    TfConfig config;
  };
  const ClusterSpec two = {{{"worker", {{0, "a:1"}, {1, "b:1"}}}}};
  const Case cases[] = {
      {R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}})",
       {two, TaskId{"worker", 1}}},
      {R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": "1"}})",
       {two, TaskId{"worker", 1}}},
      {R"({"cluster": {"worker": ["a:1", "b:1"]}})", {two, {}}},
      {R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "evaluator", "index": 0}})",
       {two, TaskId{"evaluator", 0}}},
      {R"({"cluster": {"worker": {"1": "b:1"}, "ps": ["c:1"]}, "environment": "cloud",
           "rpc_layer": "grpc", "task": {"type": "ps", "index": 0, "trial": "1"}})",
       {{{{"worker", {{1, "b:1"}}}, {"ps", {{0, "c:1"}}}}}, TaskId{"ps", 0}}}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(parse_tf_config(c.text).value() == c.config);
  }
}

TEST_CASE("an error in TF_CONFIG names its field") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[1]", R"(TF_CONFIG: expected {"cluster": {…}, "task": {…}}, got [1])"},
      {"{}", R"(TF_CONFIG: cluster: expected {"role": ["host:port", …]}, got nothing)"},
      {R"({"cluster": {"worker": "a:1"}})",
       R"(TF_CONFIG: cluster: worker: expected a list of addresses or {"index": "host:port"}, got "a:1")"},
      {R"({"cluster": {"worker": ["a:0"]}})",
       "TF_CONFIG: cluster: worker[0]: 'a:0' needs a port of 1 to 65535"},
      {R"({"cluster": {"worker": ["a:1"], "ps": ["a:1"]}})",
       "TF_CONFIG: cluster: worker[0]: 'a:1' is also the address of cluster: ps[0]"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": "worker"})",
       R"(TF_CONFIG: task: expected {"type": "role", "index": 0}, got "worker")"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"index": 0}})",
       "TF_CONFIG: task.type: expected a role, got nothing"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": 3, "index": 0}})",
       "TF_CONFIG: task.type: expected a role, got 3"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})",
       "TF_CONFIG: task.index: expected a number from 0, got nothing"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "one"}})",
       R"(TF_CONFIG: task.index: expected a number from 0, got "one")"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}})",
       "TF_CONFIG: task.index: expected a number from 0, got -1"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})",
       "TF_CONFIG: task.index: the cluster has no worker:1; it has 1 of that role"},
      {R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "chef", "index": 0}})",
       "TF_CONFIG: task.type: the cluster has no role chef; it has ps, worker"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 1}})",
       "TF_CONFIG: task.type: the cluster has no role evaluator; it has worker"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto config = parse_tf_config(c.text);
    REQUIRE_FALSE(config);
    CHECK(config.error().message == c.message);
    CHECK(config.error().code == Errc::input);
  }
  CHECK(parse_tf_config("{").error().message.starts_with("TF_CONFIG: "));
}

TEST_CASE("a task sees its part of a scheduler's value, and all else unchanged") {
  const std::string text =
      R"({"rpc_layer": "grpc", "cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]},)"
      R"( "task": {"type": "worker", "index": "1", "trial": "7"}})";
  CHECK(tf_config_seen(text, ClusterFilter::none).value() == text);
  CHECK(tf_config_seen(text, ClusterFilter::ps).value() ==
        R"({"rpc_layer":"grpc","cluster":{"ps":["c:1"],"worker":{"1":"b:1"}},)"
        R"("task":{"type":"worker","index":"1","trial":"7"}})");
}

TEST_CASE("TF_CONFIG names the cluster and the task") {
  const ClusterSpec cluster = {{{"worker", {{0, "h1:2222"}, {1, "h2:2222"}}}}};
  CHECK(tf_config(tf_cluster(cluster), {"worker", 1}) ==
        R"({"cluster":{"worker":["h1:2222","h2:2222"]},"task":{"type":"worker","index":1}})");
}

TEST_CASE("with a filter no worker sees another worker, and no ps another ps") {
  const ClusterSpec cluster = {{{"chief", {{0, "c:1"}}},
                                {"evaluator", {{0, "e:1"}}},
                                {"ps", {{0, "p:1"}, {1, "p:2"}}},
                                {"worker", {{0, "w:1"}, {1, "w:2"}}}}};
  struct Case {
    TaskId task;
    const char* seen;
  };
  const Case cases[] = {
      {{"worker", 0}, R"({"chief":["c:1"],"ps":["p:1","p:2"],"worker":["w:1"]})"},
      {{"worker", 1}, R"({"chief":["c:1"],"ps":["p:1","p:2"],"worker":{"1":"w:2"}})"},
      {{"ps", 1}, R"({"chief":["c:1"],"ps":{"1":"p:2"},"worker":["w:1","w:2"]})"},
      {{"chief", 0}, R"({"chief":["c:1"],"ps":["p:1","p:2"],"worker":["w:1","w:2"]})"},
      {{"evaluator", 0}, R"({"chief":["c:1"],"ps":["p:1","p:2"],"worker":["w:1","w:2"]})"}};
  for (const Case& c : cases) {
    CAPTURE(c.task.text());
    CHECK(tf_cluster(seen_by(c.task, cluster, ClusterFilter::ps)) == c.seen);
    CHECK(seen_by(c.task, cluster, ClusterFilter::none) == cluster);
  }
}

TEST_CASE("the evaluator is outside the cluster, and finds itself by its task alone") {
  const ClusterSpec cluster = {{{"chief", {{0, "h0:1"}}}, {"evaluator", {{0, "h9:1"}}}}};
  CHECK(tf_config(tf_cluster(cluster), {"chief", 0}) ==
        R"({"cluster":{"chief":["h0:1"]},"task":{"type":"chief","index":0}})");
  CHECK(tf_config(tf_cluster(cluster), {"evaluator", 0}) ==
        R"({"cluster":{"chief":["h0:1"]},"task":{"type":"evaluator","index":0}})");
}

}  // namespace
}  // namespace dt
