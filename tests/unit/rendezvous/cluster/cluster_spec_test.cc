#include "rendezvous/cluster/cluster_spec.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

Result<ClusterSpec> read_cluster(const std::string& text) {
  return ClusterSpec::from_json(Json::parse(text).value());
}

TEST_CASE("a cluster is written as TensorFlow reads it, and read back as it was") {
  struct Case {
    ClusterSpec cluster;
    const char* text;
  };
  const Case cases[] = {
      {{}, R"({})"},
      {{{{"worker", {{0, "h1:2222"}, {1, "h2:2222"}}}}}, R"({"worker":["h1:2222","h2:2222"]})"},
      {{{{"worker", {{1, "h2:2222"}}}}}, R"({"worker":{"1":"h2:2222"}})"},
      {{{{"worker", {{0, "a:1"}, {2, "c:3"}}}}}, R"({"worker":{"0":"a:1","2":"c:3"}})"},
      {{{{"ps", {}}}}, R"({"ps":{}})"},
      {{{{"worker", {{0, "[::1]:2222"}}}}}, R"({"worker":["[::1]:2222"]})"},
      {{{{"ps", {{0, "h3:1"}}}, {"chief", {{0, "h0:1"}}}, {"worker", {{0, "h1:1"}}}}},
       R"({"chief":["h0:1"],"ps":["h3:1"],"worker":["h1:1"]})"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(c.cluster.json().text() == c.text);
    CHECK(read_cluster(c.text).value() == c.cluster);
  }
}

TEST_CASE("an empty list is an empty job") {
  CHECK(read_cluster(R"({"ps":[]})").value().jobs.at("ps").empty());
}

TEST_CASE("a wrong cluster is refused with role, index and field") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {R"([])", R"(cluster: expected {"role": ["host:port", …]}, got [])"},
      {R"({"worker":"h:1"})",
       R"(cluster: worker: expected a list of addresses or {"index": "host:port"}, got "h:1")"},
      {R"({"worker":["a:1",2]})", R"(cluster: worker[1]: expected "host:port", got 2)"},
      {R"({"worker":["a:1",null]})", R"(cluster: worker[1]: expected "host:port", got null)"},
      {R"({"worker":{"0":7}})", R"(cluster: worker[0]: expected "host:port", got 7)"},
      {R"({"worker":{"x":"a:1"}})", "cluster: worker[x]: an index is a number from 0"},
      {R"({"worker":{"-1":"a:1"}})", "cluster: worker[-1]: an index is a number from 0"},
      {R"({"worker":{"9999999999":"a:1"}})",
       "cluster: worker[9999999999]: an index is a number from 0"},
      {R"({"worker":{"1":"a:1","01":"a:2"}})", "cluster: worker[01]: given twice"},
      {R"({"chief":["a:1","b:1"]})", "cluster: 2 tasks of role chief, at most one is allowed"},
      {R"({"evaluator":["a:1","b:1"]})",
       "cluster: 2 tasks of role evaluator, at most one is allowed"},
      {R"({"chief":{"1":"a:1"}})", "cluster: chief[1]: the only chief has index 0"},
      {R"({"chief":["a:1"],"master":["b:1"]})",
       "cluster: chief and master are two names of one task; give one"},
      {R"({"":["a:1"]})", "cluster: a role without a name"},
      {R"({"worker":["a"]})", "cluster: worker[0]: 'a' has no port"},
      {R"({"worker":["a:"]})", "cluster: worker[0]: 'a:' needs a port of 1 to 65535"},
      {R"({"worker":["a:0"]})", "cluster: worker[0]: 'a:0' needs a port of 1 to 65535"},
      {R"({"worker":["a:65536"]})", "cluster: worker[0]: 'a:65536' needs a port of 1 to 65535"},
      {R"({"worker":["a:+1"]})", "cluster: worker[0]: 'a:+1' needs a port of 1 to 65535"},
      {R"({"worker":[":1"]})", "cluster: worker[0]: ':1' has no host"},
      {R"({"worker":["::1:80"]})",
       "cluster: worker[0]: '::1:80' needs brackets around an IPv6 address, as [::1]:2222"},
      {R"({"worker":["a b:80"]})",
       "cluster: worker[0]: 'a b:80' has a character that no host name has"},
      {R"({"ps":["a:1"],"worker":["a:1"]})",
       "cluster: worker[0]: 'a:1' is also the address of cluster: ps[0]"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Result<ClusterSpec> read = read_cluster(c.text);
    REQUIRE(!read);
    CHECK(read.error() == Error{Errc::input, c.message});
  }
}

TEST_CASE("a made cluster is checked too") {
  ClusterSpec cluster;
  cluster.jobs["worker"][-1] = "a:1";
  CHECK(cluster.check().error().message == "cluster: worker[-1]: an index is a number from 0");
}

TEST_CASE("a task's address is found by its role and index, and taken apart at the port") {
  const ClusterSpec cluster = {{{"ps", {{1, "[::1]:2222"}}}}};
  REQUIRE(cluster.address_of({"ps", 1}) != nullptr);
  CHECK(*cluster.address_of({"ps", 1}) == "[::1]:2222");
  CHECK(cluster.address_of({"ps", 0}) == nullptr);
  CHECK(cluster.address_of({"worker", 1}) == nullptr);
  const auto parts = [](std::string_view address) {
    const auto [host, port] = split_address(address);
    return host + " " + port;
  };
  CHECK(parts("[::1]:2222") == "::1 2222");
  CHECK(parts("10.0.0.1:80") == "10.0.0.1 80");
  CHECK(parts("node") == "node ");
}

TEST_CASE("a port is a number, and 0 where there is none") {
  const std::pair<const char*, int> cases[] = {
      {"a.b:1", 1}, {"[::1]:65535", 65535}, {"a", 0}, {"", 0}, {"a:", 0}};
  for (const auto& [address, port] : cases) {
    CAPTURE(address);
    CHECK(port_of(address) == port);
  }
}

}  // namespace
}  // namespace dt
