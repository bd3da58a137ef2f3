#include "launcher/export/kubernetes/node_shape.h"

#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

TEST_CASE("the shape is that of the options, else that of hosts and processes") {
  struct Case {
    const char* node_options;
    const char* others;
    NodeShape shape;
  };
  const Case cases[] = {
      {"", "", {.nodes = 1, .nnodes = "1", .processes = 0, .per_node = "auto"}},
      {"", "np = 4\n", {.nodes = 1, .nnodes = "1", .processes = 4, .per_node = "4"}},
      {"",
       "np = 8\nppn = 4\nhosts = ['a', 'b']\n",
       {.nodes = 2, .nnodes = "2", .processes = 4, .per_node = "4"}},
      {"",
       "hosts = ['a:4', 'b:4']\n",
       {.nodes = 2, .nnodes = "2", .processes = 4, .per_node = "4"}},
      {"", "hosts = ['a', 'b']\n", {.nodes = 2, .nnodes = "2", .processes = 0, .per_node = "auto"}},
      {"nnodes = '3'\n", "", {.nodes = 3, .nnodes = "3", .processes = 1, .per_node = "1"}},
      {"nnodes = '3'\n", "np = 6\n", {.nodes = 3, .nnodes = "3", .processes = 2, .per_node = "2"}},
      {"nnodes = '2:4'\nnproc-per-node = '2'\n",
       "",
       {.nodes = 4, .nnodes = "2:4", .processes = 2, .per_node = "2"}},
      {"nnodes = '2'\nnproc-per-node = 'gpu'\n",
       "",
       {.nodes = 2, .nnodes = "2", .processes = 0, .per_node = "gpu"}}};
  for (const Case& one : cases) {
    CAPTURE(one.node_options);
    CAPTURE(one.others);
    CHECK(node_shape(pods_job(one.node_options, one.others)).value() == one.shape);
  }
}

TEST_CASE("nodes that would differ are refused") {
  struct Case {
    const char* node_options;
    const char* others;
    const char* message;
  };
  const Case cases[] = {
      {"nnodes = '0'\n", "", "--nnodes: expected a number of nodes"},
      {"nnodes = 'x'\n", "", "--nnodes: expected a number of nodes"},
      {"nnodes = '4:2'\n", "", "--nnodes: expected a number of nodes"},
      {"nnodes = '3'\n", "np = 4\n", "4 processes on 3 nodes: the pods of a job are equal"},
      {"nnodes = '3'\nnproc-per-node = '2'\n", "np = 4\n",
       "4 processes, but 3 nodes have 2 each; leave -np out"},
      {"", "hosts = ['a:4', 'b:2']\nnp = 6\n", "hosts of 4 and 2 processes: the pods of a job"}};
  for (const Case& one : cases) {
    CAPTURE(one.node_options);
    CAPTURE(one.others);
    const auto refused = node_shape(pods_job(one.node_options, one.others));
    REQUIRE(!refused);
    CHECK(refused.error().message.starts_with(one.message));
  }
}

TEST_CASE("a job gets as many workers as its nodes have processes") {
  const NodeShape shape = {.nodes = 3, .nnodes = "3", .processes = 2, .per_node = "2"};
  CHECK(with_workers(pods_job("", ""), shape).config.roles.front().count == 6);
}

TEST_CASE("options of nodes are those of torchrun's rendezvous") {
  for (const char* const name : {"nnodes", "node-rank", "master-addr", "rdzv-endpoint"})
    CHECK(is_node_option(name));
  CHECK(!is_node_option("nproc-per-node"));
}

}  // namespace
}  // namespace dt
