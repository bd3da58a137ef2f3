#include "comm/named/bucket.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace dt {
namespace {

std::shared_ptr<Operation> sum(std::vector<float>& values, float* output) {
  auto operation = std::make_shared<Operation>();
  operation->request = {.kind = OperationKind::all_reduce,
                        .type = ElementType::float32,
                        .count = values.size(),
                        .input = values.data(),
                        .output = output,
                        .name = "n",
                        .timeout = seconds(1)};
  return operation;
}

TEST_CASE("a single call is run in its own buffers") {
  std::vector<float> values = {1, 2};
  WorkMemory memory;
  Bucket bucket({sum(values, values.data())});
  const OperationRequest request = bucket.request(7, memory);
  CHECK(request.group == 7);
  CHECK(request.name.empty());
  CHECK(request.input == values.data());
  CHECK(request.output == values.data());
  CHECK(request.count == 2);
  bucket.distribute({0, 1});
  CHECK(values == std::vector<float>{1, 2});
}

TEST_CASE("buckets of one size use the same memory one after the other") {
  WorkMemory memory;
  std::vector<float> values = {1, 2};
  const void* place = nullptr;
  for (int i = 0; i < 3; ++i) {
    Bucket bucket({sum(values, values.data()), sum(values, values.data())});
    const OperationRequest request = bucket.request(1, memory);
    if (place != nullptr) CHECK(request.output == place);
    place = request.output;
    bucket.distribute({0, 1});
  }
}

TEST_CASE("several calls are one behind the other, and get their parts of the result") {
  std::vector<float> first = {1, 2};
  std::vector<float> second = {3};
  std::vector<float> result = {0, 0};
  WorkMemory memory;
  Bucket bucket({sum(first, result.data()), sum(second, second.data())});
  const OperationRequest request = bucket.request(1, memory);
  REQUIRE(request.count == 3);
  auto* all = static_cast<float*>(request.output);
  CHECK(std::vector<float>(all, all + 3) == std::vector<float>{1, 2, 3});
  for (int i = 0; i < 3; ++i)
    all[i] *= 10;
  bucket.distribute({0, 1});
  CHECK(result == std::vector<float>{10, 20});
  CHECK(second == std::vector<float>{30});
  CHECK(first == std::vector<float>{1, 2});
}

TEST_CASE("a bucket has the compression of its calls") {
  std::vector<float> first = {1, 2};
  std::vector<float> second = {3};
  std::vector<std::shared_ptr<Operation>> calls = {sum(first, first.data()),
                                                   sum(second, second.data())};
  for (const auto& call : calls)
    call->request.terms =
        OperationTerms{.compression = Compression::float16, .has_shape = true, .shape = {1}};
  WorkMemory memory;
  Bucket bucket(calls);
  CHECK(*bucket.request(1, memory).terms == OperationTerms{.compression = Compression::float16});
}

TEST_CASE("each call of a bucket has its own scales, and a stand-in's input has none") {
  std::vector<float> first = {1, 2};
  std::vector<float> second = {3};
  std::vector<float> third = {4};
  std::vector<std::shared_ptr<Operation>> calls = {
      sum(first, first.data()), sum(second, second.data()), sum(third, third.data())};
  calls[0]->request.terms = OperationTerms{.prescale = 10, .postscale = 0.5};
  calls[2]->request.terms = OperationTerms{.prescale = 3};
  calls[2]->request.scaled_input = std::make_shared<std::byte[]>(1);
  WorkMemory memory;
  Bucket bucket(calls);
  const OperationRequest request = bucket.request(1, memory);
  CHECK(!request.terms);
  const auto* all = static_cast<const float*>(request.input);
  CHECK(std::vector<float>(all, all + 4) == std::vector<float>{10, 20, 3, 4});
  CHECK(first == std::vector<float>{1, 2});
  bucket.distribute({0, 1});
  CHECK(first == std::vector<float>{5, 10});
  CHECK(second == std::vector<float>{3});
}

TEST_CASE("averages over some of the ranks are divided before each is scaled") {
  std::vector<float> first = {6};
  std::vector<float> second = {8};
  std::vector<std::shared_ptr<Operation>> calls = {sum(first, first.data()),
                                                   sum(second, second.data())};
  for (const auto& call : calls) {
    call->request.reduce = ReduceOp::average;
    call->request.terms = OperationTerms{.average_active = true};
  }
  calls[0]->request.terms->postscale = 10;
  WorkMemory memory;
  Bucket bucket(calls, 2);
  CHECK(bucket.request(1, memory).reduce == ReduceOp::sum);
  bucket.distribute({0, 3});
  CHECK(first == std::vector<float>{30});
  CHECK(second == std::vector<float>{4});
}

TEST_CASE("an average over some of the ranks is a sum, which is divided and then scaled") {
  std::vector<float> values = {1, 2};
  const auto mean = sum(values, values.data());
  mean->request.reduce = ReduceOp::average;
  mean->request.terms = OperationTerms{
      .prescale = 2, .postscale = 10, .average_active = true, .has_shape = true, .shape = {2}};
  WorkMemory memory;
  Bucket bucket({mean}, 4);
  const OperationRequest request = bucket.request(1, memory);
  CHECK(request.reduce == ReduceOp::sum);
  CHECK(*request.terms == OperationTerms{.prescale = 2, .average_active = true});
  values = {6, 8};
  bucket.distribute({0, 5});
  CHECK(values == std::vector<float>{15, 20});
}

}  // namespace
}  // namespace dt
