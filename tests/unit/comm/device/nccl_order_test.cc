#include "comm/device/nccl_order.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a call without a slot is pending until what stands for it is gone") {
  NcclOrder order;
  CHECK(order.all_without_slots_begun());
  auto first = order.begin_without_slot();
  auto second = order.begin_without_slot();
  first.reset();
  CHECK_FALSE(order.all_without_slots_begun());
  second.reset();
  CHECK(order.all_without_slots_begun());
}

TEST_CASE("slots are used from the first call that needs one") {
  NcclOrder order;
  CHECK_FALSE(order.uses_slots());
  order.use_slots();
  CHECK(order.uses_slots());
}

TEST_CASE("each call without a name gets one of its own for its slot") {
  NcclOrder order;
  CHECK(order.next_call_name("") == "NCCL call 1");
  CHECK(order.next_call_name("loss") == "loss, NCCL call 2");
}

}  // namespace
}  // namespace dt
