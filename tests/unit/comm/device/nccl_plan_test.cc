#include "comm/device/nccl_plan.h"

#include "base/kernels/array_reduction.h"
#include "gpu/kernels/copy_on_host.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

namespace dt {
namespace {

constexpr CallingRank second_of_three = {.rank = 1, .size = 3};

/// Buffers of a call with four elements, and memory for its plan.
struct Buffers {
  std::vector<float> floats = std::vector<float>(48);
  std::byte* input = reinterpret_cast<std::byte*>(floats.data());
  std::byte* output = input + 12 * sizeof(float);
  std::byte* memory = input + 24 * sizeof(float);

  OperationRequest request(OperationKind kind, bool same = false) const {
    return {.kind = kind, .count = 4, .input = same ? output : input, .output = output};
  }
  NcclPlan plan(const OperationRequest& request, CallingRank self = second_of_three) const {
    return plan_alone(nccl_part(request, self), self, memory);
  }
};

size_t memory_of(const OperationRequest& request, CallingRank self = second_of_three) {
  return nccl_memory_bytes(nccl_part(request, self), self);
}

/// The only piece of the only batch.
CopyPiece piece_of(const std::vector<CopyBatch>& batches) {
  REQUIRE(batches.size() == 1);
  REQUIRE(batches[0].pieces.size() == 1);
  CHECK(check(batches[0]));
  return batches[0].pieces[0];
}

TEST_CASE("a plain call is run in the caller's buffers, as far as this rank uses them") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::reduce);
  request.peer = 2;
  request.reduce = ReduceOp::max;
  NcclPlan plan = buffers.plan(request);
  CHECK(plan.call.kind == NcclCall::Kind::reduce);
  CHECK(plan.call.op == NcclOp::max);
  CHECK(plan.call.peer == 2);
  CHECK(plan.call.count == 4);
  CHECK(plan.call.from == buffers.input);
  CHECK(plan.call.to == nullptr);
  CHECK(plan.before.empty());
  CHECK(plan.after.empty());
  CHECK_FALSE(plan.divide.has_value());
  CHECK(memory_of(request) == 0);
  plan = buffers.plan(request, {.rank = 2, .size = 3});
  CHECK(plan.call.to == buffers.output);
}

TEST_CASE("an average is a sum that is divided where there is a result") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::reduce);
  request.reduce = ReduceOp::average;
  CHECK_FALSE(buffers.plan(request).divide.has_value());
  const NcclPlan plan = buffers.plan(request, {.rank = 0, .size = 3});
  CHECK(plan.call.op == NcclOp::sum);
  REQUIRE(plan.divide.has_value());
  CHECK(plan.divide->divisor == 3);
  CHECK(plan.divide->count == 4);
  CHECK(plan.divide->into == buffers.output);
  CHECK(check(*plan.divide));
}

TEST_CASE("NCCL divides an average where its result has the same bits, on all ranks") {
  const Buffers buffers;
  const auto divides = [&](OperationKind kind, int size, ElementType type) {
    OperationRequest request = buffers.request(kind);
    request.reduce = ReduceOp::average;
    request.type = type;
    NcclPlan plan = buffers.plan(request, {.rank = 0, .size = size});
    let_nccl_divide(plan, {.rank = 0, .size = size});
    CHECK(plan.divide.has_value() == (plan.call.op == NcclOp::sum));
    return plan.call.op == NcclOp::average;
  };
  CHECK(divides(OperationKind::all_reduce, 4, ElementType::float32));
  CHECK(divides(OperationKind::reduce_scatter, 2, ElementType::bfloat16));
  CHECK_FALSE(divides(OperationKind::all_reduce, 3, ElementType::float32));
  CHECK_FALSE(divides(OperationKind::all_reduce, 4, ElementType::float16));
  CHECK_FALSE(divides(OperationKind::all_reduce, 4, ElementType::int32));
  // The root alone has a result to divide.
  CHECK_FALSE(divides(OperationKind::reduce, 4, ElementType::float32));
}

TEST_CASE("a root without output keeps its elements where they are") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::scatter);
  request.output = nullptr;
  request.peer = 1;
  CHECK(buffers.plan(request).call.to == buffers.input + 4 * sizeof(float));
  request.kind = OperationKind::broadcast;
  CHECK(buffers.plan(request).call.to == buffers.input);
}

TEST_CASE("an input that NCCL would overwrite is saved") {
  const Buffers buffers;
  const auto saved = [&](OperationKind kind, int rank) {
    return memory_of(buffers.request(kind, true), {.rank = rank, .size = 3});
  };
  CHECK(saved(OperationKind::all_reduce, 1) == 0);
  CHECK(saved(OperationKind::all_gather, 0) == 0);
  CHECK(saved(OperationKind::all_gather, 1) == 16);
  CHECK(saved(OperationKind::reduce_scatter, 2) == 48);
  CHECK(saved(OperationKind::all_to_all, 0) == 48);
  const NcclPlan plan = buffers.plan(buffers.request(OperationKind::all_gather, true));
  CHECK(piece_of(plan.before) ==
        CopyPiece{.from = buffers.output, .to = buffers.memory, .count = 4});
  CHECK(plan.call.from == buffers.memory);
  CHECK(plan.call.to == buffers.output);
  CHECK(plan.after.empty());
}

TEST_CASE("elements that are only moved keep their bits, those of one byte as uint8") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::all_gather, true);
  request.type = ElementType::float8_e5m2;
  const NcclPlan plan = buffers.plan(request);
  CHECK(piece_of(plan.before) ==
        CopyPiece{.from = buffers.output, .to = buffers.memory, .count = 4});
  CHECK(plan.before[0].from == CopyFormat::bytes1);
  CHECK(plan.before[0].to == CopyFormat::bytes1);
  CHECK(plan.call.type == NcclType::uint8);
  CHECK(plan.call.count == 4);

  OperationRequest reduced = buffers.request(OperationKind::all_reduce, true);
  reduced.type = ElementType::int8;
  reduced.reduce = ReduceOp::min;
  CHECK(buffers.plan(reduced).call.type == NcclType::int8);
}

TEST_CASE("scales are factors of copies, and the memory between them is one") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::all_reduce, true);
  request.terms = OperationTerms{.prescale = 3};
  NcclPlan plan = buffers.plan(request);
  CHECK(memory_of(request) == 16);
  CHECK(piece_of(plan.before) ==
        CopyPiece{.from = buffers.output, .to = buffers.memory, .count = 4});
  CHECK(plan.before[0].factor == 3);
  CHECK(plan.call.from == buffers.memory);
  CHECK(plan.call.to == buffers.output);
  CHECK(plan.after.empty());
  request.terms = OperationTerms{.postscale = 5};
  request.reduce = ReduceOp::average;
  plan = buffers.plan(request);
  CHECK(memory_of(request) == 16);
  CHECK(plan.before.empty());
  CHECK(plan.call.from == buffers.output);
  CHECK(plan.call.to == buffers.memory);
  CHECK(plan.divide->into == buffers.memory);
  CHECK(piece_of(plan.after) ==
        CopyPiece{.from = buffers.memory, .to = buffers.output, .count = 4});
  CHECK(plan.after[0].factor == 5);
}

TEST_CASE("compressed data is cast on its way in and out") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::reduce_scatter);
  request.reduce = ReduceOp::average;
  request.terms = OperationTerms{.compression = Compression::bfloat16};
  CHECK(memory_of(request) == 24);
  const NcclPlan plan = buffers.plan(request);
  CHECK(piece_of(plan.before) ==
        CopyPiece{.from = buffers.input, .to = buffers.memory, .count = 12});
  CHECK(plan.before[0].to == CopyFormat::bfloat16);
  CHECK(plan.call.type == NcclType::bfloat16);
  CHECK(plan.call.from == buffers.memory);
  // In place, at the part of rank 1.
  CHECK(plan.call.to == buffers.memory + 8);
  CHECK(plan.divide->type == ElementType::bfloat16);
  CHECK(plan.divide->into == buffers.memory + 8);
  CHECK(piece_of(plan.after) ==
        CopyPiece{.from = buffers.memory + 8, .to = buffers.output, .count = 4});
  CHECK(plan.after[0].from == CopyFormat::bfloat16);
}

TEST_CASE("a rank without a result needs no memory for one") {
  const Buffers buffers;
  OperationRequest request = buffers.request(OperationKind::reduce);
  request.terms = OperationTerms{.postscale = 2};
  CHECK(memory_of(request) == 0);
  const NcclPlan plan = buffers.plan(request);
  CHECK(plan.call.to == nullptr);
  CHECK(plan.after.empty());
}

TEST_CASE("several parts are packed into one, each with its scales") {
  const Buffers buffers;
  OperationRequest list{.kind = OperationKind::all_reduce, .reduce = ReduceOp::average};
  list.terms = OperationTerms{.prescale = 2, .compression = Compression::float16};
  std::vector<NcclPart> parts = {
      nccl_part(list, {.count = 3, .input = buffers.input, .output = buffers.output}),
      nccl_part(list, {.count = 2, .input = buffers.input + 12, .output = buffers.output + 12})};
  parts.push_back(parts.front());
  parts.back().prescale = 7;
  CHECK(parts[1].sent_bytes() == 4);
  const NcclPlan plan = plan_together(parts, second_of_three, buffers.memory);
  CHECK(plan.call.count == 8);
  CHECK(plan.call.type == NcclType::float16);
  CHECK(plan.call.from == buffers.memory);
  CHECK(plan.call.to == buffers.memory);
  CHECK(plan.divide->count == 8);
  CHECK(plan.divide->divisor == 3);
  REQUIRE(plan.before.size() == 2);
  CHECK(plan.before[0].factor == 2);
  CHECK(plan.before[0].pieces ==
        std::vector<CopyPiece>{{buffers.input, buffers.memory, 3},
                               {buffers.input + 12, buffers.memory + 6, 2}});
  CHECK(plan.before[1].factor == 7);
  CHECK(plan.before[1].pieces == std::vector<CopyPiece>{{buffers.input, buffers.memory + 10, 3}});
  REQUIRE(plan.after.size() == 1);
  CHECK(plan.after[0].pieces.size() == 3);
  CHECK(plan.after[0].pieces[1] ==
        CopyPiece{.from = buffers.memory + 6, .to = buffers.output + 12, .count = 2});
}

/// Parts of two averages of floats, as a list has them.
std::vector<NcclPart> averages(const Buffers& buffers, ElementType type) {
  OperationRequest request = buffers.request(OperationKind::all_reduce);
  request.type = type;
  request.reduce = ReduceOp::average;
  return {2, nccl_part(request, second_of_three)};
}

TEST_CASE("the copies of results divide by a power of two, if nothing else rounds") {
  const Buffers buffers;
  const auto divides_apart = [&](const std::vector<NcclPart>& parts, int size) {
    const NcclPlan plan = plan_together(parts, {.rank = 0, .size = size}, buffers.memory);
    CHECK(plan.after.back().factor ==
          (plan.divide ? parts.back().postscale : 1 / static_cast<double>(size)));
    return plan.divide.has_value();
  };
  for (const ElementType type :
       {ElementType::float16, ElementType::bfloat16, ElementType::float32, ElementType::float64}) {
    for (const int size : {2, 4, 8, 64})
      CHECK_FALSE(divides_apart(averages(buffers, type), size));
    for (const int size : {3, 6, 12})
      CHECK(divides_apart(averages(buffers, type), size));
  }
  CHECK(divides_apart(averages(buffers, ElementType::int32), 2));
  std::vector<NcclPart> parts = averages(buffers, ElementType::float32);
  parts.back().postscale = 3;
  CHECK(divides_apart(parts, 2));
  parts = averages(buffers, ElementType::float32);
  for (NcclPart& part : parts)
    part.sent = ElementType::float16;
  CHECK(divides_apart(parts, 2));
  for (NcclPart& part : parts)
    part.reduce = ReduceOp::sum;
  CHECK_FALSE(plan_together(parts, {.rank = 0, .size = 2}, buffers.memory).divide.has_value());
}

TEST_CASE("a factor of a copy has the bits of a division by a power of two") {
  constexpr size_t count = 65536;  // all floats of 16 bits, and random ones of others
  for (const ElementType type :
       {ElementType::float16, ElementType::bfloat16, ElementType::float32, ElementType::float64}) {
    const size_t bytes = element_bytes(type);
    for (const int size : {2, 8, 1024}) {
      CAPTURE(static_cast<int>(type));
      CAPTURE(size);
      std::mt19937_64 random(1);
      std::vector<uint64_t> sums(count * bytes / 8);
      for (uint64_t& word : sums)
        word = random();
      for (size_t i = 0; i < count && bytes == 2; ++i) {
        const auto all = static_cast<uint16_t>(i);
        std::memcpy(reinterpret_cast<std::byte*>(sums.data()) + i * bytes, &all, bytes);
      }
      std::vector<uint64_t> copied(sums.size());
      copy_on_host({.from = copy_format(type),
                    .to = copy_format(type),
                    .factor = 1.0 / size,
                    .pieces = {{.from = reinterpret_cast<const std::byte*>(sums.data()),
                                .to = reinterpret_cast<std::byte*>(copied.data()),
                                .count = count}}});
      reduce_arrays(
          division_in_place(type, reinterpret_cast<std::byte*>(sums.data()), count, size));
      CHECK(copied == sums);
    }
  }
}

TEST_CASE("a call without a slot is expected until what stands for it is gone") {
  NcclOrder order;
  CHECK_FALSE(order.expects_without_slot());
  auto first = order.expect_without_slot();
  auto second = order.expect_without_slot();
  order.begin_without_slot();
  first.reset();
  CHECK(order.expects_without_slot());
  second.reset();
  CHECK_FALSE(order.expects_without_slot());
  CHECK(order.begun_without_slot() == 1);
}

TEST_CASE("slots are used from the first call that needs one") {
  NcclOrder order;
  CHECK_FALSE(order.uses_slots());
  order.use_slots();
  CHECK(order.uses_slots());
}

TEST_CASE("each call without a name gets one of its own for its slot") {
  NcclOrder order;
  CHECK(order.next_call_name("") == "NCCL call 1");
  CHECK(order.next_call_name("loss") == "loss, NCCL call 2");
}

}  // namespace
}  // namespace dt
