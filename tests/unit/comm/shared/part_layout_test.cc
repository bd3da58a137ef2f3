#include "comm/shared/part_layout.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace dt {
namespace {

/// The layout of three members with 10 bytes a part, as one of them sees it.
PartLayout layout_of(OperationKind kind, int self, int root = 1) {
  PartLayout layout(3, self);
  layout.lay_out({.kind = kind, .type = ElementType::uint8, .peer = root, .count = 10});
  return layout;
}

TEST_CASE("every member gets the whole input of every other in an all_gather") {
  const PartLayout layout = layout_of(OperationKind::all_gather, 2);
  CHECK(!layout.dealt());
  CHECK(layout.sent(0) == Part{0, 10});
  CHECK(layout.received(1) == Part{10, 10});
  CHECK(layout.source(1) == 0);
  CHECK(layout.part_bytes_max() == 10);
}

TEST_CASE("only the root of a gather receives") {
  const PartLayout root = layout_of(OperationKind::gather, 1);
  CHECK(root.received(2) == Part{20, 10});
  CHECK(root.sent(1) == Part{0, 10});
  CHECK(root.sent(0).bytes == 0);
  const PartLayout other = layout_of(OperationKind::gather, 2);
  CHECK(other.reads(1, 2));
  CHECK(!other.reads(2, 1));
  CHECK(other.sent(1) == Part{0, 10});
  CHECK(other.sent(0).bytes == 0);
  CHECK(other.received(0).bytes == 0);
}

TEST_CASE("only the root of a broadcast or scatter is read") {
  for (const OperationKind kind : {OperationKind::broadcast, OperationKind::scatter}) {
    const bool dealt = kind == OperationKind::scatter;
    const PartLayout root = layout_of(kind, 1);
    CHECK(root.dealt() == dealt);
    CHECK(root.sent(2) == Part{dealt ? size_t{20} : 0, 10});
    CHECK(root.received(1) == Part{0, 10});
    CHECK(root.received(2).bytes == 0);
    const PartLayout other = layout_of(kind, 2);
    CHECK(other.reads(2, 1));
    CHECK(!other.reads(1, 2));
    CHECK(other.sent(0).bytes == 0);
    CHECK(other.received(1) == Part{0, 10});
    CHECK(other.source(1) == (dealt ? 20 : 0));
  }
}

TEST_CASE("an all_to_all deals another part to each member") {
  const PartLayout layout = layout_of(OperationKind::all_to_all, 2);
  CHECK(layout.sent(1) == Part{10, 10});
  CHECK(layout.received(1) == Part{10, 10});
  CHECK(layout.source(0) == 20);
}

TEST_CASE("ragged inputs follow each other in the order of the members") {
  const std::array<size_t, 3> own = {4, 0, 7};
  const std::vector<const size_t*> counts = {&own[0], &own[1], &own[2]};
  PartLayout layout(3, 2);
  layout.lay_out({.kind = OperationKind::all_gather_v, .type = ElementType::int32}, counts);
  CHECK(layout.sent(0) == Part{0, 28});
  CHECK(layout.received(0) == Part{0, 16});
  CHECK(layout.received(1) == Part{16, 0});
  CHECK(layout.received(2) == Part{16, 28});
  CHECK(layout.part_bytes_max() == 28);
}

TEST_CASE("members split their inputs by their own counts") {
  const size_t from[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  const std::vector<const size_t*> counts = {from[0], from[1], from[2]};
  PartLayout layout(3, 1);
  layout.lay_out({.kind = OperationKind::all_to_all_v, .type = ElementType::uint8}, counts);
  CHECK(layout.dealt());
  CHECK(layout.sent(0) == Part{0, 4});
  CHECK(layout.sent(2) == Part{9, 6});
  CHECK(layout.received(0) == Part{0, 2});
  CHECK(layout.received(1) == Part{2, 5});
  CHECK(layout.received(2) == Part{7, 8});
  CHECK(layout.source(0) == 1);
  CHECK(layout.source(2) == 7);
  CHECK(layout.part_bytes_max() == 9);
}

}  // namespace
}  // namespace dt
