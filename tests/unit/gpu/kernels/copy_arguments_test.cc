#include "gpu/kernels/copy_arguments.h"

#include "gpu/kernels/copy_on_host.h"
#include "tests/unit/gpu/kernels/emulated_launch.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

namespace dt {
namespace {

constexpr CopyFormat floats[] = {CopyFormat::float16, CopyFormat::bfloat16, CopyFormat::float32,
                                 CopyFormat::float8_e4m3, CopyFormat::float8_e5m2};

/// Calls `check_one` with all pairs of formats between which there is a cast.
template <class Check>
void for_casts(const Check& check_one) {
  for (size_t format = 0; format < copy_format_count; ++format)
    check_one(static_cast<CopyFormat>(format), static_cast<CopyFormat>(format));
  for (const CopyFormat other : floats) {
    if (other == CopyFormat::float32) continue;
    check_one(CopyFormat::float32, other);
    check_one(other, CopyFormat::float32);
  }
}

/// Where the pieces of a batch lie: with which shifts from aligned addresses, in elements.
struct PieceShape {
  size_t from_shift = 0;
  size_t to_shift = 0;
  size_t count = 0;
};

/// A batch over memory of its own. Bytes that belong to no piece are guards.
class TestBatch {
 public:
  TestBatch(CopyFormat from, CopyFormat to, double factor, const std::vector<PieceShape>& shapes) {
    batch.from = from;
    batch.to = to;
    batch.factor = factor;
    size_t bytes = 64;
    for (const PieceShape& shape : shapes)
      bytes += (shape.count + 32) * 8 + 64;
    from_.resize(bytes / 8);
    to_.resize(bytes / 8, 0xa5a5a5a5a5a5a5a5U);
    std::mt19937_64 random(shapes.size());
    for (uint64_t& word : from_)
      word = random();
    size_t at = 0;
    for (const PieceShape& shape : shapes) {
      batch.pieces.push_back({.from = aligned(from_) + at + shape.from_shift * format_bytes(from),
                              .to = aligned(to_) + at + shape.to_shift * format_bytes(to),
                              .count = shape.count});
      at += ((shape.count + 32) * 8 + 63) / 64 * 64;
    }
  }
  std::vector<uint64_t> to() const { return to_; }
  void forget() { std::fill(to_.begin(), to_.end(), 0xa5a5a5a5a5a5a5a5U); }

  CopyBatch batch;

 private:
  static std::byte* aligned(std::vector<uint64_t>& words) {
    auto* const first = reinterpret_cast<std::byte*>(words.data());
    return first + (16 - reinterpret_cast<uintptr_t>(first) % 16) % 16;
  }
  std::vector<uint64_t> from_ = {};
  std::vector<uint64_t> to_ = {};
};

/// Returns true when the kernel leaves the same memory as the copy on the host, guards included.
bool same_as_on_host(TestBatch& test, const EmulatedGrid& grid) {
  REQUIRE(check(test.batch).has_value());
  copy_on_host(test.batch);
  const auto expected = test.to();
  test.forget();
  emulate_copy(test.batch, grid);
  return test.to() == expected;
}

TEST_CASE("each cast copies pieces of any size and alignment, and nothing else") {
  for_casts([](CopyFormat from, CopyFormat to) {
    CAPTURE(static_cast<int>(from));
    CAPTURE(static_cast<int>(to));
    const double factor = from >= CopyFormat::float16 ? 0.375 : 1;
    TestBatch test(from, to, factor,
                   {{0, 0, 1}, {0, 0, 0}, {1, 1, 40}, {0, 3, 100}, {0, 0, 20000}, {5, 5, 9000}});
    CHECK(same_as_on_host(test, {.blocks = 3, .threads = 8}));
    CHECK(same_as_on_host(test, {.blocks = 1, .threads = 1}));
    CHECK(same_as_on_host(test, {.blocks = 40, .threads = 64}));
  });
}

TEST_CASE("a thousand pieces need one launch, and more need as few as possible") {
  struct Case {
    size_t pieces;
    int launches;
  };
  for (const Case& c :
       {Case{1, 1}, Case{120, 1}, Case{121, 1}, Case{1000, 1}, Case{1001, 2}, Case{2050, 3}}) {
    CAPTURE(c.pieces);
    std::vector<PieceShape> shapes;
    for (size_t i = 0; i < c.pieces; ++i)
      shapes.push_back({.from_shift = i % 3, .to_shift = i % 2, .count = 1 + i % 40});
    TestBatch test(CopyFormat::float32, CopyFormat::bfloat16, 2, shapes);
    CHECK(same_as_on_host(test, {.blocks = 7, .threads = 4}));
    CHECK(emulate_copy(test.batch, {}) == c.launches);
  }
}

TEST_CASE("a kernel leaves all memory as it was when its flag is set") {
  for (const size_t pieces : {size_t{3}, size_t{1001}}) {
    const std::vector<PieceShape> shapes(pieces, {.from_shift = 1, .to_shift = 1, .count = 50});
    TestBatch test(CopyFormat::bfloat16, CopyFormat::float32, 2, shapes);
    uint32_t flag = 0;
    test.batch.skip = &flag;
    CHECK(same_as_on_host(test, {.blocks = 7, .threads = 4}));
    test.forget();
    const auto before = test.to();
    flag = 1;
    emulate_copy(test.batch, {.blocks = 7, .threads = 4});
    CHECK(test.to() == before);
    flag = 0;
    emulate_copy(test.batch, {.blocks = 7, .threads = 4});
    CHECK(test.to() != before);
  }
}

TEST_CASE("pieces that are aligned alike get wide accesses from their first aligned element on") {
  const auto head_of = [](CopyFormat from, CopyFormat to, size_t from_shift, size_t to_shift) {
    TestBatch test(from, to, 1, {{from_shift, to_shift, 100}});
    return copy_arguments<few_copy_items>(test.batch, test.batch.pieces).items[0].head;
  };
  CHECK(head_of(CopyFormat::bytes4, CopyFormat::bytes4, 0, 0) == 0);
  CHECK(head_of(CopyFormat::bytes4, CopyFormat::bytes4, 1, 1) == 3);
  CHECK(head_of(CopyFormat::bytes4, CopyFormat::bytes4, 1, 0) == no_aligned_element);
  CHECK(head_of(CopyFormat::float32, CopyFormat::bfloat16, 0, 0) == 0);
  CHECK(head_of(CopyFormat::float32, CopyFormat::bfloat16, 3, 3) == 5);
  CHECK(head_of(CopyFormat::bytes1, CopyFormat::bytes1, 15, 15) == 1);
}

TEST_CASE("a piece with more tiles than a launch counts is cut") {
  CopyBatch batch = {.from = CopyFormat::float32, .to = CopyFormat::float16};
  auto* const from = reinterpret_cast<const std::byte*>(uintptr_t{256});
  auto* const to = reinterpret_cast<std::byte*>(uintptr_t{1} << 40);
  batch.pieces = {{from, to, (size_t{1} << 33) + 5}};
  const auto pieces = launchable_pieces(batch);
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0] == CopyPiece{from, to, size_t{1} << 33});
  CHECK(pieces[1] == CopyPiece{from + (size_t{4} << 33), to + (size_t{2} << 33), 5});
}

}  // namespace
}  // namespace dt
