#include "launcher/job/sync/tree_orders.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a host without a tree cannot start its tasks") {
  std::vector<Prepared> answers(2);
  add_failures(answers, {"", "no room"});
  CHECK(answers[0].failure.empty());
  CHECK(answers[1].failure == "no room");
  CHECK(answers[1].status == 2);
}

TEST_CASE("set_stage() is for all orders") {
  std::vector<Prepare> orders(2);
  set_stage(orders, PrepareStage::command);
  CHECK(orders[1].stage == PrepareStage::command);
}

}  // namespace
}  // namespace dt
