#pragma once

#include "gpu/kernels/copy_arguments.h"
#include "gpu/kernels/copy_formats.cuh"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/reduce_arguments.h"

#include <algorithm>
#include <type_traits>

namespace dt {

// Runs kernels on the CPU, thread after thread. Their threads do not communicate, so the order does
// not matter.

template <class T, ReduceOp op>
void emulate_reduce(const ReduceArguments& arguments, uint64_t threads) {
  for (uint64_t thread = 0; thread < threads; ++thread)
    reduce_elements<T, op>(arguments, {thread, threads});
}

template <class T>
void emulate_reduce(const ReduceArguments& arguments, ReduceOp op, uint64_t threads) {
  switch (op) {
    case ReduceOp::sum:
      return emulate_reduce<T, ReduceOp::sum>(arguments, threads);
    case ReduceOp::average:
      if constexpr (!std::is_same_v<T, Boolean>)
        emulate_reduce<T, ReduceOp::average>(arguments, threads);
      return;
    case ReduceOp::min:
      return emulate_reduce<T, ReduceOp::min>(arguments, threads);
    case ReduceOp::max:
      return emulate_reduce<T, ReduceOp::max>(arguments, threads);
    case ReduceOp::product:
      return emulate_reduce<T, ReduceOp::product>(arguments, threads);
    case ReduceOp::adasum:
      return;
  }
}

/// Runs the kernel of a type and an operation.
inline void emulate_reduce(const ReduceArguments& arguments, ElementType type, ReduceOp op,
                           uint64_t threads) {
  using Emulation = void (*)(const ReduceArguments&, ReduceOp, uint64_t);
  constexpr Emulation emulations[element_type_count] = {
      emulate_reduce<int8_t>,   emulate_reduce<uint8_t>,    emulate_reduce<int32_t>,
      emulate_reduce<uint32_t>, emulate_reduce<int64_t>,    emulate_reduce<uint64_t>,
      emulate_reduce<Float16>,  emulate_reduce<BFloat16>,   emulate_reduce<float>,
      emulate_reduce<double>,   emulate_reduce<int16_t>,    emulate_reduce<uint16_t>,
      emulate_reduce<Boolean>,  emulate_reduce<Float8E4M3>, emulate_reduce<Float8E5M2>};
  emulations[static_cast<size_t>(type)](arguments, op, threads);
}

/// The size of an emulated launch.
struct EmulatedGrid {
  uint64_t blocks = 3;
  uint64_t threads = 8;  ///< of a block
};

template <class Arguments>
struct EmulatedCopy {
  const Arguments& arguments;
  EmulatedGrid grid;

  template <class From, class To>
  bool operator()() const {
    for (uint64_t block = 0; block < grid.blocks; ++block) {
      for (uint64_t thread = 0; thread < grid.threads; ++thread)
        copy_elements<From, To>(arguments, {block, grid.blocks}, {thread, grid.threads});
    }
    return true;
  }
  bool none() const { return false; }
};

/// Runs the kernels that a device launches for a batch. Returns how many.
inline int emulate_copy(const CopyBatch& batch, const EmulatedGrid& grid) {
  const std::vector<CopyPiece> pieces = launchable_pieces(batch);
  std::span<const CopyPiece> rest = pieces;
  int launches = 0;
  const auto launch = [&]<int capacity>(std::integral_constant<int, capacity>) {
    const auto part = rest.first(std::min<size_t>(capacity, rest.size()));
    const auto arguments = copy_arguments<capacity>(batch, part);
    visit_copy_types(batch.from, batch.to, EmulatedCopy<CopyArguments<capacity>>{arguments, grid});
    rest = rest.subspan(part.size());
    ++launches;
  };
  while (!rest.empty()) {
    if (rest.size() <= few_copy_items) {
      launch(std::integral_constant<int, few_copy_items>());
    } else {
      launch(std::integral_constant<int, many_copy_items>());
    }
  }
  return launches;
}

}  // namespace dt
