#include "comm/driver/call_arguments.h"

#include <doctest/doctest.h>

#include <array>

namespace dt {
namespace {

TEST_CASE("a call replaces every argument of the request before it") {
  const std::array<size_t, 2> counts = {3, 4};
  std::array<float, 4> buffer = {};
  const CallArguments first = {.kind = OperationKind::all_to_all_split,
                               .type = ElementType::float64,
                               .reduce = ReduceOp::max,
                               .group = 2,
                               .peer = 1,
                               .count = 4,
                               .input = buffer.data(),
                               .output = buffer.data(),
                               .name = "gradients",
                               .timeout = seconds(1),
                               .counts = counts,
                               .result = std::make_shared<OperationResult>()};
  OperationRequest request = {.algorithm = Algorithm::ring, .steps = std::make_shared<Steps>()};
  first.fill(request);
  CHECK(request.kind == OperationKind::all_to_all_split);
  CHECK(request.type == ElementType::float64);
  CHECK(request.reduce == ReduceOp::max);
  CHECK(request.group == 2);
  CHECK(request.peer == 1);
  CHECK(request.count == 4);
  CHECK(request.input == buffer.data());
  CHECK(request.output == buffer.data());
  CHECK(request.name == "gradients");
  CHECK(request.timeout == seconds(1));
  CHECK(request.counts == std::vector<size_t>{3, 4});
  CHECK(request.result == first.result);
  CHECK(!request.algorithm);
  CHECK(request.steps == nullptr);

  CallArguments().fill(request);
  CHECK(request.kind == OperationKind::barrier);
  CHECK(request.name.empty());
  CHECK(request.counts.empty());
  CHECK(request.result == nullptr);
  CHECK(request.input == nullptr);
  CHECK(request.timeout == Duration::zero());
}

TEST_CASE("a call replaces the terms of the call before it") {
  const std::array<size_t, 2> shape = {2, 3};
  OperationRequest request;
  const CallTerms both = {.prescale = 2, .postscale = 3, .shape = shape};
  CallArguments{.terms = both}.fill(request);
  REQUIRE(request.terms);
  CHECK(*request.terms ==
        OperationTerms{.prescale = 2, .postscale = 3, .has_shape = true, .shape = {2, 3}});
  CallArguments{.terms = CallTerms{.postscale = 4}}.fill(request);
  CHECK(*request.terms == OperationTerms{.postscale = 4});
  CallArguments().fill(request);
  CHECK(!request.terms);
}

}  // namespace
}  // namespace dt
