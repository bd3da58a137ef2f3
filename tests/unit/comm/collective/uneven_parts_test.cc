#include "comm/collective/uneven_parts.h"

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

OperationRequest scatter(const std::vector<float>& input, std::vector<size_t> counts) {
  return {.kind = OperationKind::reduce_scatter,
          .input = input.data(),
          .counts = std::move(counts),
          .result = std::make_shared<OperationResult>()};
}

std::vector<float> padded(OperationRequest request, size_t elements) {
  even_parts(request, 0);
  pad_input(request);
  const auto* values = static_cast<const float*>(request.input);
  return {values, values + elements};
}

TEST_CASE("uneven parts become parts of the largest count, filled with zeros") {
  const std::vector<float> input = {1, 2, 3, 4, 5};
  CHECK(padded(scatter(input, {2, 0, 3}), 9) == std::vector<float>{1, 2, 0, 0, 0, 0, 3, 4, 5});
  OperationRequest scaled = scatter(input, {2, 0, 3});
  scaled.terms = OperationTerms{.prescale = 10};
  CHECK(padded(scaled, 9) == std::vector<float>{10, 20, 0, 0, 0, 0, 30, 40, 50});
}

TEST_CASE("even parts are not copied") {
  const std::vector<float> input = {1, 2, 3, 4};
  OperationRequest request = scatter(input, {2, 2});
  even_parts(request, 1);
  pad_input(request);
  CHECK(request.input == input.data());
  CHECK(request.count == 2);
  CHECK(request.output == request.result->data.get());
  CHECK(request.result->counts == std::vector<size_t>{2});
}

TEST_CASE("ranks compare the counts") {
  const std::vector<float> input(4);
  std::vector<Descriptor> calls;
  for (const std::vector<size_t>& counts : {std::vector<size_t>{3, 1}, {3, 1}, {1, 3}}) {
    OperationRequest request = scatter(input, counts);
    even_parts(request, 0);
    calls.push_back(Descriptor::of(request));
  }
  const auto found = compare(calls, std::vector<int>{0, 1, 2}, 4);
  REQUIRE(found);
  CHECK(found->text ==
        "reduce_scatter #4: rank 2 gave other counts of the parts, others equal ones");
}

TEST_CASE("counts that cannot be run are refused") {
  const std::vector<float> input(4);
  const auto refusal = [&](std::vector<size_t> counts) {
    const Result<> checked = check_request(scatter(input, std::move(counts)), 0, 3);
    return checked ? "" : checked.error().message;
  };
  CHECK(refusal({1, 2, 1}).empty());
  CHECK(refusal({1, 2}) == "there are 2 counts for 3 ranks; give one for each rank");
  // The sum could be addressed, but not three parts of the largest count.
  CHECK(refusal({size_t{1} << 60, 0, 0}) == "float32[1152921504606846976] is too large");
}

}  // namespace
}  // namespace dt
