#include "comm/engine/reduce.h"

#include "comm/kernels/reducer.h"

#include <array>
#include <cassert>

namespace dt {

namespace {

struct TypeFacts {
  std::string_view name;
  bool floating;
};

constexpr std::array<TypeFacts, 10> types = {{{"int8", false},
                                              {"uint8", false},
                                              {"int32", false},
                                              {"uint32", false},
                                              {"int64", false},
                                              {"uint64", false},
                                              {"float16", true},
                                              {"bfloat16", true},
                                              {"float32", true},
                                              {"float64", true}}};

constexpr std::array<std::string_view, 5> reduce_names = {"sum", "average", "min", "max",
                                                          "product"};

const TypeFacts& facts(ElementType type) {
  assert(known(type));
  return types[static_cast<size_t>(type)];
}

}  // namespace

bool known(ElementType type) {
  return static_cast<size_t>(type) < types.size();
}
bool known(ReduceOp op) {
  return static_cast<size_t>(op) < reduce_names.size();
}

std::string_view element_name(ElementType type) {
  return facts(type).name;
}
std::string_view reduce_name(ReduceOp op) {
  assert(known(op));
  return reduce_names[static_cast<size_t>(op)];
}
bool is_floating(ElementType type) {
  return facts(type).floating;
}

void Reduction::apply(std::byte* into, const std::byte* from, size_t count) const {
  Reducer(type, op).reduce(into, from, count);
}

void reduce_in_order(const OperationRequest& request, std::span<const std::byte* const> sources,
                     std::byte* into, size_t count) {
  const Reduction reduction{request.type, request.reduce};
  const size_t bytes = element_bytes(request.type);
  // `into` may be any of the sources, so the result grows in a buffer, one part after the other.
  constexpr size_t part_bytes = 4096;
  alignas(64) std::array<std::byte, part_bytes> part;
  for (size_t done = 0; done < count;) {
    const size_t n = std::min(part_bytes / bytes, count - done);
    std::memcpy(part.data(), sources.front() + done * bytes, n * bytes);
    for (const std::byte* source : sources.subspan(1))
      reduction.apply(part.data(), source + done * bytes, n);
    if (request.reduce == ReduceOp::average)
      average_over(request.type, part.data(), n, static_cast<int>(sources.size()));
    std::memcpy(into + done * bytes, part.data(), n * bytes);
    done += n;
  }
}

void average_over(ElementType type, std::byte* elements, size_t count, int divisor) {
  assert(is_floating(type));
  divide(type, elements, count, divisor);
}

}  // namespace dt
