#include "comm/shared/mailbox_transfer.h"

#include "tests/unit/comm/memory/heap_area.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

namespace dt {
namespace {

OperationRequest request_of(OperationKind kind, size_t count) {
  return {.kind = kind, .type = ElementType::int8, .count = count};
}

/// One member of a group, and its layout.
struct Member {
  Member(const HeapArea& memory, int self)
      : area(memory.of(self)), layout(area->members(), self), transfer(*area, layout) {}
  bool small(const OperationRequest& request) {
    transfer.start(request, MailboxRound::of(1));
    return transfer.small();
  }
  void post(const OperationRequest& request) {
    transfer.start(request, MailboxRound::of(1));
    transfer.post();
  }

  std::shared_ptr<SharedArea> area;
  PartLayout layout;
  MailboxTransfer transfer;
};

TEST_CASE("inputs up to 8 KiB fit, counted with the parts of all members") {
  Member member(HeapArea(2), 0);
  for (const OperationKind kind :
       {OperationKind::all_reduce, OperationKind::broadcast, OperationKind::all_gather,
        OperationKind::reduce, OperationKind::gather}) {
    CHECK(member.small(request_of(kind, 8192)));
    CHECK(!member.small(request_of(kind, 8193)));
  }
  for (const OperationKind kind :
       {OperationKind::reduce_scatter, OperationKind::scatter, OperationKind::all_to_all}) {
    CHECK(member.small(request_of(kind, 4096)));
    CHECK(!member.small(request_of(kind, 4097)));
  }
  CHECK(member.small({.kind = OperationKind::barrier, .count = 1 << 20}));
}

TEST_CASE("inputs fit together with the counts of their member") {
  Member member(HeapArea(2), 0);
  CHECK(member.small(request_of(OperationKind::all_gather_v, 8184)));
  CHECK(!member.small(request_of(OperationKind::all_gather_v, 8185)));
  OperationRequest split = request_of(OperationKind::all_to_all_v, 0);
  split.counts = {4000, 4176};
  CHECK(member.small(split));
  split.counts = {4000, 4177};
  CHECK(!member.small(split));
}

TEST_CASE("many members read less from each") {
  Member member(HeapArea(64), 0);
  CHECK(member.small(request_of(OperationKind::all_reduce, 1024)));
  CHECK(!member.small(request_of(OperationKind::all_reduce, 1025)));
}

TEST_CASE("counts that do not fit into a mailbox are not executed") {
  CHECK(MailboxTransfer::runs(OperationKind::all_to_all_v, 1024));
  CHECK(!MailboxTransfer::runs(OperationKind::all_to_all_v, 1025));
  CHECK(MailboxTransfer::runs(OperationKind::all_to_all, 5000));
}

TEST_CASE("members that have no input do not touch the pointer to it") {
  const HeapArea memory(2);
  Member other(memory, 0);
  Member root(memory, 1);
  const std::array<int8_t, 4> parts = {1, 2, 3, 4};
  std::array<int8_t, 2> received = {};
  OperationRequest sending = request_of(OperationKind::scatter, 2);
  sending.peer = 1;
  OperationRequest receiving = sending;
  sending.input = parts.data();
  receiving.input = reinterpret_cast<const void*>(uintptr_t{1});
  receiving.output = received.data();
  root.post(sending);
  other.post(receiving);
  REQUIRE(root.transfer.lay_out());
  REQUIRE(other.transfer.lay_out());
  other.transfer.receive();
  root.transfer.receive();  // its output is null
  CHECK(received[0] == 1);
  CHECK(received[1] == 2);
}

TEST_CASE("members know the counts of all, also where one input is too large for its mailbox") {
  const HeapArea memory(2);
  Member zero(memory, 0);
  Member one(memory, 1);
  const std::vector<int8_t> input(9000, 7);
  std::vector<OperationRequest> requests = {request_of(OperationKind::all_gather_v, 3),
                                            request_of(OperationKind::all_gather_v, 9000)};
  for (OperationRequest& request : requests) {
    request.input = input.data();
    request.result = std::make_shared<OperationResult>();
  }
  zero.post(requests[0]);
  one.post(requests[1]);
  CHECK(zero.transfer.small());
  for (Member* member : {&zero, &one}) {
    CHECK(!member->transfer.lay_out());
    CHECK(member->layout.received(1) == Part{3, 9000});
  }
  CHECK(requests[0].result->counts == std::vector<size_t>{3, 9000});
  CHECK(requests[0].result->data != nullptr);

  requests[1].count = 4;
  zero.post(requests[0]);
  one.post(requests[1]);
  CHECK(one.transfer.lay_out());
  CHECK(zero.transfer.lay_out());
  zero.transfer.receive();
  CHECK(
      std::vector<std::byte>(requests[0].result->data.get(), requests[0].result->data.get() + 7) ==
      std::vector<std::byte>(7, std::byte{7}));
}

}  // namespace
}  // namespace dt
