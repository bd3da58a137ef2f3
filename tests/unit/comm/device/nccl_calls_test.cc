#include "comm/device/nccl_calls.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

OperationRequest request_of(OperationKind kind, void* input, void* output) {
  return {.kind = kind, .count = 4, .input = input, .output = output};
}

TEST_CASE("NCCL plays plain collectives, and nothing else") {
  OperationRequest request{.kind = OperationKind::all_reduce, .count = 4};
  CHECK(nccl_can_play(request));
  request.reduce = ReduceOp::average;
  CHECK(nccl_can_play(request));
  request.type = ElementType::int32;
  CHECK_FALSE(nccl_can_play(request));
  request.reduce = ReduceOp::max;
  CHECK(nccl_can_play(request));
  request.type = ElementType::int16;
  CHECK_FALSE(nccl_can_play(request));
  request.type = ElementType::float32;
  request.reduce = ReduceOp::adasum;
  CHECK_FALSE(nccl_can_play(request));
  request.reduce = ReduceOp::sum;
  request.name = "gradient";
  CHECK_FALSE(nccl_can_play(request));
  request.in_sequence = true;
  CHECK(nccl_can_play(request));
  request.terms = OperationTerms{.has_shape = true, .shape = {4}};
  CHECK(nccl_can_play(request));
  request.terms = OperationTerms{.postscale = 2};
  CHECK_FALSE(nccl_can_play(request));
  request.terms = OperationTerms{.compression = Compression::float16};
  CHECK_FALSE(nccl_can_play(request));
  request.terms = OperationTerms{.average_active = true};
  CHECK_FALSE(nccl_can_play(request));
  request.terms = OperationTerms{.quorum = {.ranks = 2}};
  CHECK_FALSE(nccl_can_play(request));
  request.terms.reset();
  request.counts = {1, 3};
  CHECK_FALSE(nccl_can_play(request));
  request.counts.clear();
  request.tensors.resize(1);
  CHECK_FALSE(nccl_can_play(request));
  request.tensors.clear();
  for (const auto kind : {OperationKind::all_to_all_split, OperationKind::all_gather_ragged,
                          OperationKind::barrier, OperationKind::send, OperationKind::join}) {
    request.kind = kind;
    CHECK_FALSE(nccl_can_play(request));
  }
}

TEST_CASE("a task has the call's buffers, as far as this rank uses them") {
  std::vector<float> input(12);
  std::vector<float> output(12);
  OperationRequest request = request_of(OperationKind::reduce, input.data(), output.data());
  request.peer = 2;
  request.reduce = ReduceOp::max;
  auto task = make_nccl_task(request, {.rank = 1, .size = 3});
  CHECK(task->call.kind == NcclCall::Kind::reduce);
  CHECK(task->call.op == NcclOp::max);
  CHECK(task->call.peer == 2);
  CHECK(task->call.count == 4);
  CHECK(task->call.from == input.data());
  CHECK(task->call.to == nullptr);
  task = make_nccl_task(request, {.rank = 2, .size = 3});
  CHECK(task->call.to == output.data());
  CHECK_FALSE(task->then.has_value());
}

TEST_CASE("an average is a sum that is divided where there is a result") {
  std::vector<float> memory(12);
  OperationRequest request = request_of(OperationKind::reduce, memory.data(), memory.data());
  request.reduce = ReduceOp::average;
  CHECK_FALSE(make_nccl_task(request, {.rank = 1, .size = 3})->then.has_value());
  const auto task = make_nccl_task(request, {.rank = 0, .size = 3});
  CHECK(task->call.op == NcclOp::sum);
  REQUIRE(task->then.has_value());
  CHECK(task->then->divisor == 3);
  CHECK(task->then->count == 4);
  CHECK(task->then->into == reinterpret_cast<std::byte*>(memory.data()));
}

TEST_CASE("a root without output keeps its elements where they are") {
  std::vector<float> input(12);
  OperationRequest request = request_of(OperationKind::scatter, input.data(), nullptr);
  request.peer = 1;
  auto task = make_nccl_task(request, {.rank = 1, .size = 3});
  CHECK(task->call.to == input.data() + 4);
  request.kind = OperationKind::broadcast;
  task = make_nccl_task(request, {.rank = 1, .size = 3});
  CHECK(task->call.to == input.data());
}

TEST_CASE("an input that NCCL would overwrite is copied") {
  std::vector<float> memory(12);
  const auto copied = [&](OperationKind kind, int rank) {
    return make_nccl_task(request_of(kind, memory.data(), memory.data()), {.rank = rank, .size = 3})
        ->copied_input_bytes;
  };
  CHECK(copied(OperationKind::all_reduce, 1) == 0);
  CHECK(copied(OperationKind::all_gather, 0) == 0);
  CHECK(copied(OperationKind::all_gather, 1) == 16);
  CHECK(copied(OperationKind::reduce_scatter, 2) == 48);
  CHECK(copied(OperationKind::all_to_all, 0) == 48);
}

}  // namespace
}  // namespace dt
