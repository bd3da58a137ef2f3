#include "comm/include/dtrain/dtrain_ps.hpp"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a cluster has the tasks of --cluster_spec") {
  const auto cluster = dtrain::ClusterSpec::parse("worker|h1:2222;h2:2222,ps|[::1]:2222");
  CHECK(cluster.tasks("worker") == 2);
  CHECK(cluster.tasks("ps") == 1);
  CHECK(cluster.tasks("chief") == 0);
  CHECK(cluster.address("worker", 1) == "h2:2222");
  CHECK(cluster.address("ps", 0) == "[::1]:2222");
  CHECK_FALSE(cluster.address("worker", 2));
}

TEST_CASE("a text that is no cluster is refused, and names the reason") {
  for (const char* text : {"", "worker", "worker|h1:2222,ps|h1:2222", "worker|h1:0"}) {
    dtrain_error error = new_error();
    CHECK(dtrain_cluster_parse(text, &error) == nullptr);
    CHECK(error.code == DTRAIN_ERROR_INPUT);
    CHECK(error.text[0] != '\0');
  }
  dtrain_error error = new_error();
  CHECK(dtrain_cluster_parse("worker|h1:2222,ps|h1:2222", &error) == nullptr);
  CHECK(contains(error.text, "h1:2222"));
  CHECK(dtrain_cluster_parse(nullptr, &error) == nullptr);
  CHECK(dtrain_cluster_tasks(nullptr, "ps") == 0);
  CHECK(dtrain_cluster_address(nullptr, "ps", 0) == nullptr);
}

}  // namespace
}  // namespace dt
