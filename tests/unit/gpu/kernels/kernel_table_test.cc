#include "gpu/kernels/kernel_table.h"

#include <doctest/doctest.h>

#include <set>

namespace dt {
namespace {

TEST_CASE("there is a kernel for each type and operation that reduces element by element") {
  std::set<KernelFunction> kernels;
  for (size_t i = 0; i < element_type_count; ++i) {
    const auto type = static_cast<ElementType>(i);
    CAPTURE(i);
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      const bool found = reduce_kernel(type, op) != nullptr;
      CHECK(found);
      kernels.insert(reduce_kernel(type, op));
    }
    const bool has_average = reduce_kernel(type, ReduceOp::average) != nullptr;
    CHECK(has_average == (type != ElementType::boolean));
    const bool has_adasum = reduce_kernel(type, ReduceOp::adasum) != nullptr;
    CHECK_FALSE(has_adasum);
    kernels.insert(reduce_kernel(type, ReduceOp::average));
  }
  // Floats have 30, booleans 2. Integers have 8 averages, 16 minima and maxima, and for each size a
  // sum and a product. The last one is null.
  CHECK(kernels.size() == 30 + 2 + 8 + 16 + 8 + 1);
}

TEST_CASE("there is a kernel for each cast, with few and with many pieces") {
  for (size_t from = 0; from < copy_format_count; ++from) {
    for (size_t to = 0; to < copy_format_count; ++to) {
      CAPTURE(from);
      CAPTURE(to);
      const CopyBatch batch = {.from = static_cast<CopyFormat>(from),
                               .to = static_cast<CopyFormat>(to)};
      const bool few = copy_kernel(batch.from, batch.to, true) != nullptr;
      const bool many = copy_kernel(batch.from, batch.to, false) != nullptr;
      CHECK(few == check(batch).has_value());
      CHECK(many == few);
    }
  }
}

}  // namespace
}  // namespace dt
