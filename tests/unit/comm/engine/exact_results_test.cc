#include "comm/collective/reduce.h"
#include "tests/sim/program.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Memory whose elements are aligned to their own size and to nothing larger.
class Unaligned {
 public:
  Unaligned(size_t elements, size_t element_bytes)
      : size_(elements * element_bytes), offset_(element_bytes), memory_(size_ + 64 + offset_) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    offset_ += (64 - address % 64) % 64;
  }
  std::byte* data() { return memory_.data() + offset_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  size_t offset_;
  Bytes memory_;
};

/// One collective on all ranks, with inputs of small whole numbers, whose results are exact.
class Check {
 public:
  Check(const Call& call, EngineGroup& group, bool in_place)
      : call_(call), group_(group), size_(group.size()), in_place_(in_place) {}

  void run() {
    std::vector<std::shared_ptr<Operation>> operations;
    for (int rank = 0; rank < size_; ++rank)
      operations.push_back(group_.submit(rank, request(rank)));
    group_.settle();
    for (int rank = 0; rank < size_; ++rank) {
      REQUIRE(failure(operations[static_cast<size_t>(rank)]) == "ok");
      check(rank, operations[static_cast<size_t>(rank)]->request);
    }
  }

 private:
  OperationRequest request(int rank) {
    const size_t bytes = element_bytes(call_.type);
    const size_t elements = input_count(call_, rank, size_);
    inputs_.push_back(std::make_unique<Unaligned>(elements, bytes));
    outputs_.push_back(std::make_unique<Unaligned>(output_count(call_, size_), bytes));
    for (size_t i = 0; i < elements; ++i)
      store(call_.type, inputs_.back()->data() + i * bytes, input_value(call_, rank, i));
    OperationRequest request{
        .kind = call_.kind,
        .type = call_.type,
        .reduce = call_.reduce,
        .peer = call_.root,
        .count =
            call_.kind == OperationKind::all_gather_v ? ragged_count(call_, rank) : call_.count,
        .input = inputs_.back()->data(),
        .output = in_place_ ? inputs_.back()->data() : outputs_.back()->data()};
    if (call_.kind == OperationKind::all_to_all_v)
      request.counts = split_counts(call_, rank, size_);
    if (has_own_counts(call_.kind)) request.result = std::make_shared<OperationResult>();
    return request;
  }

  void check(int rank, const OperationRequest& request) {
    if (has_own_counts(call_.kind)) {
      const Bytes parts = expected_parts(call_, rank, size_);
      REQUIRE(request.result->counts == received_counts(call_, rank, size_));
      REQUIRE(std::equal(parts.begin(), parts.end(), request.result->data.get()));
      return;
    }
    if (!has_output(call_, rank)) return;
    const Bytes wanted = expected_output(call_, rank, size_);
    REQUIRE(wanted.size() <= output_count(call_, size_) * element_bytes(call_.type));
    REQUIRE(std::equal(wanted.begin(), wanted.end(), static_cast<std::byte*>(request.output)));
  }

  Call call_;
  EngineGroup& group_;
  int size_;
  bool in_place_;
  std::vector<std::unique_ptr<Unaligned>> inputs_;
  std::vector<std::unique_ptr<Unaligned>> outputs_;
};

/// True when input and output may be one buffer that begins at the same address.
bool has_in_place(OperationKind kind) {
  return reduces(kind) || kind == OperationKind::all_to_all || kind == OperationKind::broadcast;
}

void check_call(Call call, EngineGroup& group) {
  const int size = group.size();
  if (!has_reduction(call.type, call.reduce)) return;
  CAPTURE(std::string(element_name(call.type)));
  CAPTURE(std::string(reduce_name(call.reduce)));
  CAPTURE(static_cast<int>(call.kind));
  CAPTURE(size);
  CAPTURE(call.count);
  call.root = size / 2;
  Check(call, group, false).run();
  if (has_in_place(call.kind)) Check(call, group, true).run();
}

/// Runs a call of each kind but the barrier.
void for_each_kind(const std::function<void(OperationKind)>& execute) {
  for (int kind = 0; kind < static_cast<int>(OperationKind::barrier); ++kind)
    execute(static_cast<OperationKind>(kind));
}

void check_all_kinds(EngineGroup::Hosts hosts) {
  for (int size = 1; size <= 9; ++size) {
    EngineGroup group(size, seconds(5), hosts);
    for_each_kind([&](OperationKind kind) {
      for (size_t type = 0; type < element_type_count; ++type)
        for (int reduce = 0; reduce < (reduces(kind) ? 5 : 1); ++reduce)
          for (const size_t count : {1, 33})
            check_call({.kind = kind,
                        .type = static_cast<ElementType>(type),
                        .reduce = static_cast<ReduceOp>(reduce),
                        .count = count},
                       group);
    });
  }
}

TEST_CASE("results are exact for each kind, type, reduction, number of ranks and odd count") {
  check_all_kinds(EngineGroup::Hosts::several);
}

TEST_CASE("results in shared memory are exact for all of these") {
  check_all_kinds(EngineGroup::Hosts::one);
}

TEST_CASE("results are exact where each of several hosts has shared memory") {
  for (const std::vector<int>& hosts : {std::vector{2, 2}, {2, 3}, {3, 1, 2}}) {
    EngineGroup group(hosts);
    for_each_kind([&](OperationKind kind) {
      for (size_t type = 0; type < element_type_count; ++type)
        for (int reduce = 0; reduce < (reduces(kind) ? 5 : 1); ++reduce)
          for (const size_t count : {1, 2, 33})
            check_call({.kind = kind,
                        .type = static_cast<ElementType>(type),
                        .reduce = static_cast<ReduceOp>(reduce),
                        .count = count},
                       group);
      for (const size_t count : {259, 5'003, 16'385, 60'001})
        for (const ReduceOp reduce : {ReduceOp::sum, ReduceOp::average})
          check_call({.kind = kind, .type = ElementType::int32, .reduce = reduce, .count = count},
                     group);
    });
  }
}

TEST_CASE("results in shared memory are exact for counts of one block and of several") {
  for (const int size : {1, 2, 3, 4, 9}) {
    EngineGroup group(size, seconds(5), EngineGroup::Hosts::one);
    for_each_kind([&](OperationKind kind) {
      for (const size_t count : {259, 1'031, 5'003, size <= 4 ? 200'003 : 30'001})
        check_call({.kind = kind, .type = ElementType::int32, .count = count}, group);
    });
  }
}

TEST_CASE("results are exact for counts at which other algorithms are chosen") {
  for (const int size : {2, 3, 4, 8, 9}) {
    EngineGroup group(size);
    for_each_kind([&](OperationKind kind) {
      for (const size_t count : {1'031, 5'003, size <= 4 ? 30'001 : 9'001})
        check_call({.kind = kind, .type = ElementType::int32, .count = count}, group);
    });
  }
}

/// Element i of a rank: some are NaN, with payloads that show the rank.
uint32_t value_or_nan(int rank, size_t i) {
  const bool nan = (i + static_cast<size_t>(rank)) % 5 == 0;
  return nan ? 0x7fc00100U + static_cast<uint32_t>(rank) : 0x3f800000U + static_cast<uint32_t>(i);
}

TEST_CASE("a NaN of any rank passes through minima and maxima, with the same bits on every rank") {
  for (const int size : {2, 3, 4, 7}) {
    EngineGroup group(size);
    for (const size_t count : {33, 5'003, 40'001}) {
      for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
        CAPTURE(size);
        CAPTURE(count);
        std::vector<std::vector<uint32_t>> values(static_cast<size_t>(size));
        for (int rank = 0; rank < size; ++rank) {
          auto& mine = values[static_cast<size_t>(rank)];
          for (size_t i = 0; i < count; ++i)
            mine.push_back(value_or_nan(rank, i));
          group.submit(rank, {.kind = OperationKind::all_reduce,
                              .type = ElementType::float32,
                              .reduce = op,
                              .count = count,
                              .input = mine.data(),
                              .output = mine.data()});
        }
        group.settle();
        for (const auto& mine : values)
          REQUIRE(mine == values[0]);
        for (size_t i = 0; i < count; ++i) {
          const size_t first_with_nan = (5 - i % 5) % 5;
          const bool wanted = first_with_nan < static_cast<size_t>(size);
          REQUIRE((values[0][i] > 0x7f800000U) == wanted);
        }
      }
    }
  }
}

TEST_CASE("the average of integers wraps in the sum and is divided toward zero") {
  EngineGroup group(3);
  std::vector<std::vector<int8_t>> values = {{100, -100, -1, 5}, {100, -100, -1, 0}, {1, 0, 0, 0}};
  for (int rank = 0; rank < 3; ++rank) {
    auto& mine = values[static_cast<size_t>(rank)];
    group.submit(rank, {.kind = OperationKind::all_reduce,
                        .type = ElementType::int8,
                        .reduce = ReduceOp::average,
                        .count = mine.size(),
                        .input = mine.data(),
                        .output = mine.data()});
  }
  group.settle();
  // 201 wraps to -55, and -200 to 56.
  for (const auto& mine : values)
    CHECK(mine == std::vector<int8_t>{-18, 18, 0, 1});
}

TEST_CASE("pointers that are not aligned for their element are refused") {
  EngineGroup group(1);
  Bytes memory(64);
  for (size_t type = 0; type < element_type_count; ++type) {
    const auto element = static_cast<ElementType>(type);
    if (element_bytes(element) == 1) continue;
    std::byte* odd = memory.data() + element_bytes(element) / 2;
    for (const bool input : {true, false}) {
      const auto operation = group.submit(0, {.kind = OperationKind::all_to_all,
                                              .type = element,
                                              .count = 1,
                                              .input = input ? odd : memory.data(),
                                              .output = input ? memory.data() : odd});
      CHECK(failure_code(operation) == Errc::input);
    }
  }
}

}  // namespace
}  // namespace dt
