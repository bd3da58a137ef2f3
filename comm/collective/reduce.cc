#include "comm/collective/reduce.h"

#include "base/kernels/reducer.h"

#include <array>
#include <cassert>

namespace dt {

namespace {

struct TypeFacts {
  std::string_view name;
  bool floating;
};

constexpr std::array<TypeFacts, element_type_count> types = {{{"int8", false},
                                                              {"uint8", false},
                                                              {"int32", false},
                                                              {"uint32", false},
                                                              {"int64", false},
                                                              {"uint64", false},
                                                              {"float16", true},
                                                              {"bfloat16", true},
                                                              {"float32", true},
                                                              {"float64", true},
                                                              {"int16", false},
                                                              {"uint16", false},
                                                              {"bool", false},
                                                              {"float8_e4m3", true},
                                                              {"float8_e5m2", true}}};

constexpr std::array<std::string_view, 6> reduce_names = {"sum", "average", "min",
                                                          "max", "product", "adasum"};

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

void average_over(ElementType type, std::byte* elements, size_t count, int divisor) {
  divide(type, elements, count, divisor);
}

}  // namespace dt
