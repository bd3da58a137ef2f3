#include "rendezvous/cluster/cluster_text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a cluster on one line is written and read back") {
  struct Case {
    ClusterSpec cluster;
    const char* text;
  };
  const Case cases[] = {{{{{"worker", {{0, "h1:2222"}, {1, "h2:2222"}}}, {"ps", {{0, "h3:2222"}}}}},
                         "ps|h3:2222,worker|h1:2222;h2:2222"},
                        {{{{"local", {{0, "[::1]:1"}}}}}, "local|[::1]:1"}};
  for (const Case& c : cases) {
    CHECK(cluster_text(c.cluster) == c.text);
    CHECK(parse_cluster_text(c.text).value() == c.cluster);
  }
}

TEST_CASE("a line that is no cluster is refused with its role, index and field") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "cluster: empty; expected worker|host:port;host:port,ps|host:port"},
      {"  ", "cluster: empty; expected worker|host:port;host:port,ps|host:port"},
      {"worker",
       "cluster: 'worker' has no |; expected worker|host:port;host:port,ps|host:port, in quotes, "
       "since a shell takes an unquoted | or ; for itself"},
      {"worker|a:1,",
       "cluster: '' has no |; expected worker|host:port;host:port,ps|host:port, in quotes, since a "
       "shell takes an unquoted | or ; for itself"},
      {"worker|a:1|b:1",
       "cluster: worker: more than one |; expected worker|host:port;host:port,ps|host:port; roles "
       "are parted by commas"},
      {"|a:1", "cluster: '|a:1' has no role before the |"},
      {"worker|", "cluster: worker: no tasks after the |"},
      {"worker|a:1;;b:1", "cluster: worker[1] is empty: two ; in a row, or one at the end"},
      {"worker|a:1;", "cluster: worker[1] is empty: two ; in a row, or one at the end"},
      {"worker|a:1,worker|b:1", "cluster: worker: given twice"},
      {"worker|a", "cluster: worker[0]: 'a' has no port"},
      {"chief|a:1;b:1", "cluster: 2 tasks of role chief, at most one is allowed"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto cluster = parse_cluster_text(c.text);
    REQUIRE_FALSE(cluster);
    CHECK(cluster.error().message == c.message);
    CHECK(cluster.error().code == Errc::input);
  }
}

}  // namespace
}  // namespace dt
