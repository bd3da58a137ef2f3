#include "comm/shared/mailbox_transfer.h"

#include "tests/unit/comm/transport/heap_area.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace dt {
namespace {

OperationRequest request_of(OperationKind kind, size_t count) {
  return {.kind = kind, .type = ElementType::int8, .count = count};
}

TEST_CASE("inputs up to 8 KiB fit, counted with the parts of all members") {
  const HeapArea memory(2);
  const auto area = memory.of(0);
  MailboxTransfer transfer(*area);
  for (const OperationKind kind :
       {OperationKind::all_reduce, OperationKind::broadcast, OperationKind::all_gather,
        OperationKind::reduce, OperationKind::gather}) {
    CHECK(transfer.start(request_of(kind, 8192), 1));
    CHECK(!transfer.start(request_of(kind, 8193), 1));
  }
  for (const OperationKind kind :
       {OperationKind::reduce_scatter, OperationKind::scatter, OperationKind::all_to_all}) {
    CHECK(transfer.start(request_of(kind, 4096), 1));
    CHECK(!transfer.start(request_of(kind, 4097), 1));
  }
  CHECK(transfer.start({.kind = OperationKind::barrier, .count = 1 << 20}, 1));
  CHECK(!transfer.start(request_of(OperationKind::all_to_all_split, 1), 1));
}

TEST_CASE("many members read less from each") {
  const HeapArea memory(64);
  const auto area = memory.of(0);
  MailboxTransfer transfer(*area);
  CHECK(transfer.start(request_of(OperationKind::all_reduce, 1024), 1));
  CHECK(!transfer.start(request_of(OperationKind::all_reduce, 1025), 1));
}

TEST_CASE("members that have no input do not touch the pointer to it") {
  const HeapArea memory(2);
  const auto zero = memory.of(0);
  const auto one = memory.of(1);
  MailboxTransfer other(*zero);
  MailboxTransfer root(*one);
  const std::array<int8_t, 4> parts = {1, 2, 3, 4};
  std::array<int8_t, 2> received = {};
  OperationRequest sending = request_of(OperationKind::scatter, 2);
  sending.peer = 1;
  OperationRequest receiving = sending;
  sending.input = parts.data();
  receiving.input = reinterpret_cast<const void*>(uintptr_t{1});
  receiving.output = received.data();
  REQUIRE(root.start(sending, 1));
  REQUIRE(other.start(receiving, 1));
  other.send();
  root.send();
  other.receive();
  root.receive();  // its output is null
  CHECK(received[0] == 1);
  CHECK(received[1] == 2);
}

}  // namespace
}  // namespace dt
