#include "gpu/nccl/nccl_call.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

using Kind = NcclCall::Kind;

std::string refusal(const NcclCall& call, const NcclPlace& place) {
  const auto checked = check(call, place);
  return checked ? "none" : checked.error().message;
}

TEST_CASE("check refuses peers that do not exist, null buffers, and types of newer libraries") {
  float value = 0;
  const NcclPlace place = {.rank = 1, .size = 3, .version = 22809};
  struct Case {
    NcclCall call;
    const char* text;
  };
  const Case cases[] = {
      {{.count = 1, .from = &value, .to = &value}, "none"},
      {{.count = 0}, "none"},
      {{.kind = Kind::reduce, .peer = 3}, "reduce: rank 3 is none of the 3 ranks"},
      {{.kind = Kind::send, .peer = -1}, "send: rank -1 is none of the 3 ranks"},
      {{.peer = 9, .count = 1, .from = &value, .to = &value}, "none"},
      {{.count = 1, .to = &value}, "all_reduce: a buffer is null"},
      {{.count = 1, .from = &value}, "all_reduce: a buffer is null"},
      {{.kind = Kind::reduce, .peer = 0, .count = 1, .from = &value}, "none"},
      {{.kind = Kind::reduce, .peer = 1, .count = 1, .from = &value}, "reduce: a buffer is null"},
      {{.kind = Kind::broadcast, .peer = 0, .count = 1, .to = &value}, "none"},
      {{.kind = Kind::broadcast, .peer = 1, .count = 1, .to = &value},
       "broadcast: a buffer is null"},
      {{.kind = Kind::gather, .peer = 0, .count = 1, .from = &value}, "none"},
      {{.kind = Kind::scatter, .peer = 0, .count = 1, .to = &value}, "none"},
      {{.kind = Kind::scatter, .peer = 1, .count = 1, .to = &value}, "scatter: a buffer is null"},
      {{.kind = Kind::send, .peer = 0, .count = 1, .from = &value}, "none"},
      {{.kind = Kind::receive, .peer = 0, .count = 1, .from = &value}, "receive: a buffer is null"},
      {{.kind = Kind::all_to_all, .count = 1, .from = &value, .to = &value},
       "all_to_all: input and output are the same memory"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(refusal(c.call, place) == c.text);
  }
  const NcclCall float8 = {.type = NcclType::float8_e4m3, .count = 0};
  CHECK(refusal(float8, place) == "none");
  CHECK(refusal(float8, {.version = 22005}) ==
        "all_reduce: NCCL 2.20.5 has no 8-bit floats; they need 2.24.3 or newer");
}

TEST_CASE("NCCL reduces all types but 16-bit integers, booleans and 8-bit floats") {
  for (size_t i = 0; i < element_type_count; ++i) {
    CAPTURE(i);
    const auto type = static_cast<ElementType>(i);
    const auto found = nccl_type(type);
    const bool missing =
        type == ElementType::int16 || type == ElementType::uint16 || type >= ElementType::boolean;
    CHECK(found.has_value() != missing);
    if (found) CHECK(nccl_bytes(*found) == element_bytes(type));
  }
  CHECK(nccl_type(ElementType::bfloat16) == NcclType::bfloat16);
}

TEST_CASE("NCCL moves elements of one byte, also those that it does not reduce") {
  for (size_t i = 0; i < element_type_count; ++i) {
    CAPTURE(i);
    const auto type = static_cast<ElementType>(i);
    const auto found = nccl_moved_type(type);
    CHECK(found.has_value() != (type == ElementType::int16 || type == ElementType::uint16));
    if (found) CHECK(nccl_bytes(*found) == element_bytes(type));
    // An older NCCL would refuse its own 8-bit floats.
    if (element_bytes(type) == 1) CHECK(found == NcclType::uint8);
  }
}

TEST_CASE("averages and adaptive sums are not NCCL's") {
  CHECK(nccl_op(ReduceOp::sum) == NcclOp::sum);
  CHECK(nccl_op(ReduceOp::product) == NcclOp::product);
  CHECK(nccl_op(ReduceOp::min) == NcclOp::min);
  CHECK(nccl_op(ReduceOp::max) == NcclOp::max);
  CHECK_FALSE(nccl_op(ReduceOp::average).has_value());
  CHECK_FALSE(nccl_op(ReduceOp::adasum).has_value());
  CHECK(nccl_can_reduce(ElementType::uint64, ReduceOp::max));
  CHECK(nccl_can_reduce(ElementType::float16, ReduceOp::product));
  for (const auto type :
       {ElementType::float16, ElementType::bfloat16, ElementType::float32, ElementType::float64}) {
    CHECK_FALSE(nccl_can_reduce(type, ReduceOp::max));
    CHECK_FALSE(nccl_can_reduce(type, ReduceOp::min));
  }
}

}  // namespace
}  // namespace dt
