#include "comm/device/staged_chunks.h"

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr size_t elements = chunk_bytes / sizeof(float);

OperationRequest large(OperationKind kind) {
  return {.kind = kind, .count = 2 * elements + 1};
}

TEST_CASE("large calls without a name, of one element after the other, have chunks") {
  for (const auto kind :
       {OperationKind::all_reduce, OperationKind::reduce, OperationKind::broadcast})
    CHECK(elements_of_chunk(large(kind)) == elements);
  OperationRequest call = large(OperationKind::all_reduce);
  call.type = ElementType::float16;
  CHECK(elements_of_chunk(call) == 0);
  call.count *= 2;
  CHECK(elements_of_chunk(call) == 2 * elements);
  call = large(OperationKind::all_reduce);
  call.count = 2 * elements;
  CHECK(elements_of_chunk(call) == 0);
  call = large(OperationKind::all_reduce);
  call.name = "loss";
  CHECK(elements_of_chunk(call) == 0);
  call.in_sequence = true;
  CHECK(elements_of_chunk(call) == elements);
  call.reduce = ReduceOp::adasum;
  CHECK(elements_of_chunk(call) == 0);
  for (const auto kind : {OperationKind::all_gather, OperationKind::reduce_scatter,
                          OperationKind::all_to_all, OperationKind::send})
    CHECK(elements_of_chunk(large(kind)) == 0);
}

/// A call in memory of its own, and what is copied around it.
struct Cut {
  explicit Cut(const OperationRequest& request, CallingRank self = {.rank = 0, .size = 2}) {
    call->request = request;
    const std::vector<BufferRanges> ranges = ranges_of(request, self);
    const StagingLayout layout = lay_out(ranges);
    memory.resize(layout.bytes);
    chunks = cut(call, ranges, layout, memory.data());
  }
  std::shared_ptr<Operation> call = std::make_shared<Operation>();
  std::vector<std::byte> memory;
  std::vector<StagedChunk> chunks;
};

TEST_CASE("a small call is one chunk, which is the call itself") {
  std::vector<float> in(4);
  std::vector<float> out(4);
  const Cut small(
      {.kind = OperationKind::all_reduce, .count = 4, .input = in.data(), .output = out.data()});
  REQUIRE(small.chunks.size() == 1);
  CHECK(small.chunks[0].executed == small.call);
  CHECK(small.call->request.announced == nullptr);
  CHECK(small.call->request.input == small.memory.data());
  REQUIRE(small.chunks[0].inputs.size() == 1);
  CHECK(small.chunks[0].inputs[0].to == small.memory.data());
  CHECK(small.chunks[0].inputs[0].bytes == 16);
  CHECK(small.chunks[0].results.at(0).to == reinterpret_cast<std::byte*>(out.data()));
}

TEST_CASE("chunks are operations on parts of the buffers, compared as the whole call") {
  OperationRequest request = large(OperationKind::all_reduce);
  std::vector<float> numbers(request.count);
  request.input = request.output = numbers.data();
  request.terms = OperationTerms{.postscale = 3, .has_shape = true, .shape = {request.count}};
  const Cut whole(request);
  REQUIRE(whole.chunks.size() == 3);
  size_t begin = 0;
  for (const StagedChunk& chunk : whole.chunks) {
    const OperationRequest& part = chunk.executed->request;
    CHECK(part.input == whole.memory.data() + begin * sizeof(float));
    CHECK(part.output == part.input);
    CHECK(part.terms->postscale == 3);
    CHECK(check_request(part, 0, 2));
    CHECK(Descriptor::of(part) == Descriptor::of(request));
    const size_t bytes = part.count * sizeof(float);
    CHECK(chunk.inputs.at(0).from == reinterpret_cast<std::byte*>(numbers.data() + begin));
    CHECK(chunk.inputs[0].to == part.input);
    CHECK(chunk.inputs[0].bytes == bytes);
    CHECK(chunk.results.at(0).to == chunk.inputs[0].from);
    CHECK(chunk.results[0].bytes == bytes);
    begin += part.count;
  }
  CHECK(begin == request.count);
}

TEST_CASE("a rank without a result copies none") {
  OperationRequest request = large(OperationKind::reduce);
  std::vector<float> numbers(request.count);
  request.input = numbers.data();
  request.peer = 1;
  const Cut whole(request);
  REQUIRE(whole.chunks.size() == 3);
  CHECK(whole.chunks[2].inputs.at(0).bytes == sizeof(float));
  CHECK(whole.chunks[2].results.empty());
  CHECK(whole.chunks[2].executed->request.output == nullptr);
}

}  // namespace
}  // namespace dt
