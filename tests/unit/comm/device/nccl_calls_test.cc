#include "comm/device/nccl_calls.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("NCCL executes collectives of even parts, and nothing else") {
  OperationRequest request{.kind = OperationKind::all_reduce, .count = 4};
  CHECK(nccl_can_run(request));
  request.reduce = ReduceOp::average;
  CHECK(nccl_can_run(request));
  request.type = ElementType::int32;
  CHECK(nccl_can_run(request));
  request.terms = OperationTerms{.prescale = 2};
  CHECK_FALSE(nccl_can_run(request));
  request.terms.reset();
  request.reduce = ReduceOp::max;
  CHECK(nccl_can_run(request));
  request.type = ElementType::bfloat16;
  CHECK_FALSE(nccl_can_run(request));
  request.type = ElementType::int16;
  CHECK_FALSE(nccl_can_run(request));
  request.type = ElementType::float32;
  request.reduce = ReduceOp::adasum;
  CHECK_FALSE(nccl_can_run(request));
  request.reduce = ReduceOp::sum;
  request.name = "gradient";
  CHECK(nccl_can_run(request));
  request.terms = OperationTerms{.has_shape = true, .shape = {4}};
  CHECK(nccl_can_run(request));
  request.terms = OperationTerms{.postscale = 2, .compression = Compression::float16};
  CHECK(nccl_can_run(request));
  request.type = ElementType::float64;
  CHECK_FALSE(nccl_can_run(request));
  request.terms = OperationTerms{.postscale = 2};
  CHECK(nccl_can_run(request));
  request.terms = OperationTerms{.average_active = true};
  CHECK_FALSE(nccl_can_run(request));
  request.terms = OperationTerms{.quorum = {.ranks = 2}};
  CHECK_FALSE(nccl_can_run(request));
  request.terms.reset();
  request.counts = {1, 3};
  CHECK_FALSE(nccl_can_run(request));
  request.counts.clear();
  request.tensors.resize(2);
  CHECK(nccl_can_run(request));
  request.terms = OperationTerms{.prescale = 2};
  request.tensors[1].type = ElementType::int32;
  CHECK_FALSE(nccl_can_run(request));
  request.terms.reset();
  request.tensors[1].type = ElementType::boolean;
  CHECK_FALSE(nccl_can_run(request));
  // Another rank may have a tensor with its own name in another list.
  request.tensors[1].type = ElementType::int32;
  CHECK(nccl_can_run(request));
  for (TensorOfList& tensor : request.tensors)
    tensor.name = "weights";
  CHECK(!nccl_can_run(request));
  request.tensors.clear();
  for (const auto kind : {OperationKind::all_to_all_v, OperationKind::all_gather_v,
                          OperationKind::barrier, OperationKind::send, OperationKind::join}) {
    request.kind = kind;
    CHECK_FALSE(nccl_can_run(request));
  }
}

TEST_CASE("NCCL moves 8-bit floats, and reduces none") {
  OperationRequest request{.count = 4};
  for (const ElementType type :
       {ElementType::float8_e4m3, ElementType::float8_e5m2, ElementType::boolean}) {
    request.type = type;
    for (const auto kind :
         {OperationKind::broadcast, OperationKind::all_gather, OperationKind::gather,
          OperationKind::scatter, OperationKind::all_to_all}) {
      request.kind = kind;
      CHECK(nccl_can_run(request));
    }
    for (const auto kind :
         {OperationKind::all_reduce, OperationKind::reduce, OperationKind::reduce_scatter}) {
      request.kind = kind;
      CHECK_FALSE(nccl_can_run(request));
    }
  }
  request.kind = OperationKind::all_reduce;
  request.tensors.resize(2);
  CHECK(nccl_can_run(request));
  request.tensors[1].type = ElementType::float8_e5m2;
  CHECK_FALSE(nccl_can_run(request));
}

}  // namespace
}  // namespace dt
