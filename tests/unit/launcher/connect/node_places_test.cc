#include "launcher/connect/node_places.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

NodeIntro intro(std::string hostname) {
  return {.build = "1.0",
          .hostname = std::move(hostname),
          .count = 3,
          .processes = "2",
          .command = {"python", "train.py"}};
}

TEST_CASE("a node's rank is its place, and one without rank gets the first that is free") {
  const NodePlaces places(intro("first"));
  CHECK(places.place_of(1, {PlaceState::awaited, PlaceState::awaited}).value() == 0);
  CHECK(places.place_of(2, {PlaceState::awaited, PlaceState::awaited}).value() == 1);
  CHECK(places.place_of(rankless_node, {PlaceState::left_out, PlaceState::awaited}).value() == 1);
}

TEST_CASE("a node without a place learns why") {
  NodePlaces places(intro("first"));
  using enum PlaceState;
  const auto refused = [&places](int rank, const std::vector<PlaceState>& states) {
    return places.place_of(rank, states).error().message;
  };
  CHECK(refused(3, {awaited, awaited}) ==
        "node 3 has no place: node 0 has --nnodes 3, so that ranks of nodes are 0 to 2");
  CHECK(refused(-1, {awaited, awaited}).starts_with("node -1 has no place"));
  CHECK(refused(2, {awaited, taken}) ==
        "node 2 is there already; each node needs a rank of its own");
  CHECK(refused(rankless_node, {taken, taken}) == "each of the 3 nodes is there already");
  CHECK(refused(rankless_node, {taken, left_out}) ==
        "this node takes its place at the next restart");
  REQUIRE(places.take(1, intro("second")).has_value());
  CHECK(refused(2, {awaited, taken}) ==
        "node 2 (second) is there already; each node needs a rank of its own");
  CHECK(refused(2, {awaited, left_out}) == "node 2 (second) takes its place at the next restart");
}

TEST_CASE("hosts have the names of their nodes, and each its own") {
  NodePlaces places(intro("pod"));
  CHECK(places.take(0, intro("pod")).value() == "pod-node1");
  CHECK(places.take(1, intro("other")).value() == "other");
  // The plan knows a node that returns by its first name.
  CHECK(places.take(1, intro("third")).value() == "other");
  CHECK(NodePlaces(intro("pod")).take(0, intro("")).value() == "-node1");
}

TEST_CASE("nodes that want another job are refused with both values") {
  NodePlaces places(intro("first"));
  const auto refused = [&places](const NodeIntro& other) {
    return places.take(0, other).error().message;
  };
  NodeIntro other = intro("second");
  other.count = 4;
  CHECK(refused(other) == "node 1 (second) has --nnodes 4, node 0 (first) has 3; they must agree");
  other = intro("second");
  other.processes = "gpu";
  CHECK(refused(other) ==
        "node 1 (second) has --nproc-per-node gpu, node 0 (first) has 2; they must agree");
  other.processes = "";
  CHECK(refused(other) ==
        "node 1 (second) has no --nproc-per-node, node 0 (first) has 2; they must agree");
  other = intro("second");
  other.build = "1.1";
  CHECK(refused(other) ==
        "node 1 (second) has dtrain 1.1, node 0 (first) has 1.0; they must agree");
}

TEST_CASE("another command is a warning") {
  NodePlaces places(intro("first"));
  NodeIntro other = intro("second");
  CHECK(places.warning(0, other).empty());
  other.command = {"sh"};
  REQUIRE(places.take(0, other).has_value());
  CHECK(places.warning(0, other) ==
        "second runs its own command: sh; node 0 runs: python train.py");
}

}  // namespace
}  // namespace dt
