#include "launcher/protocol/node_messages.h"

#include "tests/unit/launcher/protocol/whole_message.h"

namespace dt {
namespace {

TEST_CASE("messages of nodes are read back, and only whole") {
  check_round_trip(NodeIntro{"0.9", "trainer-1", 4, "gpu", {"python", "train.py", ""}, 2});
  check_round_trip(Dismissed{143, "interrupted by SIGTERM"});
  check_round_trip(Leaving{"it got SIGTERM"});
}

TEST_CASE("any bytes give a message of a node or an error") {
  check_any_bytes<NodeIntro>();
  check_any_bytes<Dismissed>();
  check_any_bytes<Leaving>();
}

}  // namespace
}  // namespace dt
