#include "comm/collective/compression.h"

#include "base/kernels/half.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

OperationRequest sum_of(const std::vector<float>& input, std::vector<float>& output) {
  return {.kind = OperationKind::all_reduce,
          .type = ElementType::float32,
          .count = output.size(),
          .input = input.data(),
          .output = output.data(),
          .terms = OperationTerms{.compression = Compression::bfloat16}};
}

std::vector<float> widened(const void* halves, size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(to_float(static_cast<const BFloat16*>(halves)[i]));
  return values;
}

TEST_CASE("a compressed call has 16-bit buffers until it ends, and is still called by its type") {
  std::vector<float> values = {1, -2, 3.001953125F};
  OperationRequest request = sum_of(values, values);
  prepare_input(request, {0, 2});
  CHECK(request.type == ElementType::bfloat16);
  CHECK(called_type(request) == ElementType::float32);
  CHECK(request.input == request.output);
  CHECK(request.input != values.data());
  CHECK(widened(request.input, 3) == std::vector<float>{1, -2, 3});
  complete_result(request, {0, 2});
  CHECK(request.type == ElementType::float32);
  CHECK(request.output == values.data());
  CHECK(values == std::vector<float>{1, -2, 3});
}

TEST_CASE("a compressed call has two buffers where the caller has two") {
  const std::vector<float> input = {1, 2};
  std::vector<float> output = {0, 0};
  OperationRequest request = sum_of(input, output);
  request.terms->prescale = 2;
  request.terms->postscale = 10;
  request.steps = std::make_shared<Steps>();  // of a registered algorithm
  prepare_input(request, {0, 2});
  CHECK(request.input != request.output);
  std::copy_n(static_cast<const BFloat16*>(request.input), 2,
              static_cast<BFloat16*>(request.output));
  complete_result(request, {0, 2});
  CHECK(output == std::vector<float>{20, 40});
  CHECK(input == std::vector<float>{1, 2});
}

TEST_CASE("only a root has the result of a compressed reduce") {
  std::vector<float> values = {5};
  OperationRequest request = sum_of(values, values);
  request.kind = OperationKind::reduce;
  request.peer = 1;
  prepare_input(request, {0, 2});
  *static_cast<BFloat16*>(request.output) = {};
  complete_result(request, {0, 2});
  CHECK(values == std::vector<float>{5});
}

TEST_CASE("compressions have names") {
  CHECK(compression_name(Compression::none) == "none");
  CHECK(compression_name(Compression::bfloat16) == "bfloat16");
}

}  // namespace
}  // namespace dt
