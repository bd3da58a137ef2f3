#include "launcher/protocol/state_messages.h"

#include "tests/unit/launcher/protocol/whole_message.h"

namespace dt {
namespace {

TEST_CASE("questions for states and their answers are read back, and only whole") {
  check_round_trip(StatesWanted{{{{"worker", 3}, 4711}, {{"ps", 0}, 0}}});
  check_round_trip(States{{{{"worker", 3}, {4711, 'D', "nfs_wait"}}, {{"ps", 0}, {}}}});
}

TEST_CASE("any bytes give states or an error") {
  check_any_bytes<States>();
  check_any_bytes<StatesWanted>();
}

}  // namespace
}  // namespace dt
