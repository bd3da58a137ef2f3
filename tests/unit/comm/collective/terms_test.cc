#include "comm/collective/terms.h"

#include "base/format.h"
#include "comm/collective/descriptor.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace dt {
namespace {

OperationRequest with(OperationTerms terms, OperationKind kind = OperationKind::all_reduce) {
  return {.kind = kind, .count = 6, .terms = std::move(terms)};
}
OperationTerms shaped(std::vector<uint64_t> shape) {
  return {.has_shape = true, .shape = std::move(shape)};
}

TEST_CASE("terms that do not fit the call are refused with the reason") {
  struct Case {
    OperationRequest request;
    const char* text;
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  OperationRequest flags = with({.postscale = 2});
  flags.type = ElementType::boolean;
  OperationRequest whole = with({.compression = Compression::float16});
  whole.type = ElementType::int32;
  const Case cases[] = {
      {with({.prescale = infinite}), "the prescale is inf; give a finite number"},
      {with({.postscale = -infinite}), "the postscale is -inf; give a finite number"},
      {with({.prescale = 2}, OperationKind::broadcast), "broadcast has no prescale"},
      {flags, "bool has no prescale"},
      {whole, "int32 has no compression; only float32 and float64 have one"},
      {with({.compression = Compression::bfloat16}, OperationKind::all_gather),
       "all_gather has no compression; only operations that reduce have one"},
      {with(shaped({2, 2})), "the shape float32[2, 2] does not have the 6 elements of the call"},
      {with(shaped({})), "the shape float32[] does not have the 6 elements"},
      {with(shaped({uint64_t{1} << 63, 4, 0})), "does not have the 6 elements"},
      {with(shaped({uint64_t{1} << 63, 4})), "does not have the 6 elements"},
      {with(shaped(std::vector<uint64_t>(65, 1))), "the shape has 65 dimensions; at most 64"},
      {with(shaped({}), OperationKind::barrier), "a barrier has no shape"},
  };
  for (const Case& c : cases) {
    const Result<> checked = check_terms(c.request);
    REQUIRE(!checked);
    CHECK(checked.error().code == Errc::input);
    CHECK_MESSAGE(checked.error().message.find(c.text) != std::string::npos,
                  checked.error().message);
  }
  CHECK(check_terms(with(shaped({2, 1, 3}))));
  CHECK(check_terms(with({.prescale = -0.5, .postscale = 3})));
  OperationRequest scalar = with(shaped({}));
  scalar.count = 1;
  CHECK(check_terms(scalar));
  scalar.terms = shaped({7, 0});
  scalar.count = 0;
  CHECK(check_terms(scalar));
}

TEST_CASE("equal terms have equal hashes, and each difference another one") {
  const OperationTerms all[] = {{},
                                {.prescale = 2},
                                {.postscale = 2},
                                {.prescale = 2, .postscale = 2},
                                {.compression = Compression::float16},
                                {.compression = Compression::bfloat16},
                                shaped({}),
                                shaped({6}),
                                shaped({2, 3}),
                                shaped({3, 2}),
                                shaped({6, 1})};
  for (const OperationTerms& one : all)
    for (const OperationTerms& other : all)
      CHECK((call_hash(with(one), 1) == call_hash(with(other), 1)) == (one == other));
  OperationRequest none = with({});
  none.terms.reset();
  CHECK(call_hash(none, 1) == call_hash(with({}), 1));
}

TEST_CASE("where ranks have own counts, only the first dimension may differ") {
  const auto of = [](std::vector<uint64_t> shape) {
    return with(shaped(std::move(shape)), OperationKind::all_gather_v);
  };
  CHECK(call_hash(of({2, 3}), 1) == call_hash(of({9, 3}), 1));
  CHECK(call_hash(of({2, 3}), 1) != call_hash(of({2, 4}), 1));
  CHECK(call_hash(of({2, 3}), 1) != call_hash(of({2, 3, 1}), 1));
  CHECK(Descriptor::of(of({2, 3})) == Descriptor::of(of({9, 3})));
  const auto mismatch = compare(std::vector{Descriptor::of(of({2, 3})), Descriptor::of(of({9, 4}))},
                                std::vector{0, 1}, 3);
  REQUIRE(mismatch);
  CHECK(mismatch->text == "all_gather_v #3: rank 1 sent float32[*, 4], rank 0 float32[*, 3]");
}

/// Performs an all_reduce on all ranks, and returns how it ended on the last one.
std::string outcome_of(EngineGroup& group, std::vector<OperationTerms> terms) {
  std::vector<std::vector<float>> values(terms.size(), std::vector<float>(6, 1));
  std::shared_ptr<Operation> last;
  for (int rank = 0; rank < group.size(); ++rank) {
    OperationRequest request = with(terms[static_cast<size_t>(rank)]);
    request.input = request.output = values[static_cast<size_t>(rank)].data();
    last = group.submit(rank, std::move(request));
  }
  group.settle();
  return failure(last);
}

TEST_CASE("ranks that differ in scale or shape get both, and the engine stays usable") {
  EngineGroup group(3);
  CHECK(outcome_of(group, {shaped({2, 3}), shaped({3, 2}), shaped({2, 3})}) ==
        "all_reduce #1: rank 1 (host n1) sent float32[3, 2], others float32[2, 3]");
  CHECK(outcome_of(group, {shaped({6}), {}, {}}) ==
        "all_reduce #2: rank 0 (host n0) sent float32[6], others float32[6] without a shape");
  CHECK(outcome_of(group, {{.prescale = 2}, {}, {.prescale = 2}}) ==
        "all_reduce #3: rank 1 asked for prescale 1 and postscale 1, others prescale 2 and "
        "postscale 1");
  CHECK(outcome_of(group, {{.compression = Compression::float16}, {}, {}}) ==
        "all_reduce #4: rank 0 asked for compression to float16, others none");
  CHECK(outcome_of(
            group,
            {{.compression = Compression::float16}, {}, {.compression = Compression::float16}}) ==
        "all_reduce #5: rank 1 asked for no compression, others compression to float16");
  CHECK(outcome_of(group, {shaped({2, 3}), shaped({2, 3}), shaped({2, 3})}) == "ok");
}

TEST_CASE("at most four ranks are named with their hosts") {
  const Descriptor one = Descriptor::of(with(shaped({6})));
  const Descriptor other = Descriptor::of(with(shaped({2, 3})));
  std::vector<Descriptor> all(13, one);
  std::fill(all.begin(), all.begin() + 6, other);
  std::vector<int> ranks(all.size());
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = static_cast<int>(i);
  const auto mismatch = compare(all, ranks, 1, [](int rank) { return format("rank {}@h", rank); });
  REQUIRE(mismatch);
  CHECK(mismatch->text ==
        "all_reduce #1: rank 0@h, rank 1@h, rank 2@h, rank 3@h and 2 more sent float32[2, 3], "
        "others float32[6]");
}

TEST_CASE("terms travel in descriptors, and more dimensions than possible are refused") {
  OperationTerms terms = shaped({2, 3});
  terms.prescale = 0.25;
  terms.postscale = -3;
  terms.compression = Compression::bfloat16;
  const Arrival arrival{.sequence = 1, .descriptor = Descriptor::of(with(terms))};
  const Bytes bytes = encode(arrival);
  const Result<Arrival> read = decode_arrival(bytes);
  REQUIRE(read);
  CHECK(read->descriptor.terms == terms);
  CHECK(!decode_arrival(encode(
      {.sequence = 1, .descriptor = Descriptor::of(with(shaped(std::vector<uint64_t>(65, 1))))})));
}

}  // namespace
}  // namespace dt
