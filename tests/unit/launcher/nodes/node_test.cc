#include "launcher/nodes/node.h"

#include "base/io/network.h"
#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

RunConfig config_of_nodes() {
  RunConfig config;
  config.nodes = NodeOptions{.least = 3,
                             .count = 3,
                             .rank = 0,
                             .rank_origin = "PET_NODE_RANK",
                             .master = "127.0.0.1",
                             .port = 1,
                             .id = "j",
                             .processes = "gpu",
                             .token = Token::random().value()};
  config.hosts = {{.name = "localhost"}, {.name = "node 1"}, {.name = "node 2"}};
  config.command = {"train"};
  return config;
}

TEST_CASE("a node introduces itself with what nodes must have in common") {
  const NodeIntro intro = own_intro(config_of_nodes());
  CHECK_FALSE(intro.build.empty());
  CHECK(intro == NodeIntro{.build = intro.build,
                           .hostname = own_host_name(),
                           .count = 3,
                           .processes = "gpu",
                           .command = {"train"}});
  RunConfig in_step = config_of_nodes();
  in_step.nodes->order = 2;
  CHECK(own_intro(in_step).order == 2);
}

TEST_CASE("node 0 awaits the others with their secret, and those that may return") {
  RunConfig config = config_of_nodes();
  auto options = dialed_by_nodes(config);
  REQUIRE((options && options->nodes));
  CHECK(options->nodes->token == *config.nodes->token);
  CHECK(options->nodes->job == "nodes/j");
  CHECK_FALSE(options->nodes->may_return);
  CHECK(options->where()->port == 1);
  config.restarts.max = 1;
  CHECK(dialed_by_nodes(config)->nodes->may_return);
  config.nodes.reset();
  CHECK_FALSE(dialed_by_nodes(config));
}

TEST_CASE("node 0 advises what to check when a node is absent, or another process has the port") {
  RunConfig config = config_of_nodes();
  const auto advice = [&config] { return dialed_by_nodes(config)->nodes->advice; };
  const std::string ranked =
      "does dtrain run start there, with its own PET_NODE_RANK? A second node of rank 0 would "
      "wait, too: check PET_NODE_RANK on each node";
  CHECK(advice().absent == ranked);
  CHECK(advice().port_taken ==
        "if that is another node of rank 0, check PET_NODE_RANK on each node, else give all nodes "
        "another port");
  config.nodes->master = "n0.example";
  CHECK(advice().absent == ranked);
  for (const char* const foreign : {"192.0.2.77", "2001:db8::77"}) {
    config.nodes->master = foreign;
    CHECK(advice().absent ==
          ranked + "; this machine has no address " + foreign + ", which is that of node 0");
  }
  // With c10d, there is no rank of a node to check.
  config.nodes->rank.reset();
  config.nodes->rank_origin.clear();
  CHECK(advice().absent ==
        "does dtrain run start there, with --rdzv-endpoint [2001:db8::77]:1 and --nnodes 3?");
  CHECK(advice().port_taken ==
        "give all nodes another port than that of --rdzv-endpoint [2001:db8::77]:1");
  config.nodes->least = 2;
  CHECK(advice().absent.ends_with("and --nnodes 2:3?"));
}

TEST_CASE("a rank decides which node is node 0, else the address of the endpoint") {
  std::string logged;
  Log log(Log::Level::normal, [&logged](std::string_view line) { logged += line; });
  RunConfig config = config_of_nodes();
  CHECK(begin_as_node_0(config, log));
  CHECK(config.hosts.front().name == own_host_name());
  CHECK(logged.find("node 0 of 3 (PET_NODE_RANK); waiting for 2 nodes at port 1") !=
        std::string::npos);
  config.nodes->rank = 2;
  CHECK_FALSE(begin_as_node_0(config, log));
  const Fd listener = listen_on({"127.0.0.1", 0}).value();
  config.nodes->rank.reset();
  // Another node of this machine is node 0.
  config.nodes->port = local_address(listener.get())->port;
  CHECK_FALSE(begin_as_node_0(config, log));
  config.nodes->master = "192.0.2.77";
  CHECK_FALSE(begin_as_node_0(config, log));
}

TEST_CASE("without nodes, nobody is dismissed") {
  CHECK_NOTHROW(dismiss_nodes(nullptr, Outcome{.exit_status = 7}));
}

}  // namespace
}  // namespace dt
