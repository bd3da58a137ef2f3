#pragma once

#include "gpu/kernels/element_math.cuh"
#include "gpu/kernels/system_order.cuh"

namespace dt {

/// A piece for the kernel, which works on tiles: parts of pieces of one size.
struct CopyItem {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  uint64_t count = 0;
  uint32_t tiles_before = 0;  ///< of the items before it
  /// Elements before the first one at which both places are aligned for wide accesses; 255: there
  /// is no such element.
  uint32_t head = 0;
};

/// The parameters of a kernel that copies pieces. One size of this struct suits few pieces, and
/// costs little to launch. The other is almost as large as parameters may be.
template <int capacity>
struct CopyArguments {
  CopyItem items[capacity] = {};
  int item_count = 0;
  uint32_t tile_count = 0;
  double factor = 1;
  const uint32_t* skip = nullptr;  ///< not zero: nothing is copied
};

inline constexpr int few_copy_items = 120;
inline constexpr int many_copy_items = 1000;
inline constexpr uint32_t no_aligned_element = 255;

/// How a tile is copied: by groups of `width` elements, of 16 bytes in the narrower format. A
/// thread loads `unroll` groups before it stores the first, so that all of them are on their way
/// together. A tile has at least as many groups for each of 256 threads.
template <class From, class To>
struct CopyShape {
  static constexpr int wider = sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To);
  static constexpr int width = 16 / (sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
  static constexpr int unroll = width * wider > 32 ? 2 : 4;
  static constexpr uint64_t tile_elements = 32768 / wider;
};

/// Returns the bytes of a tile's elements in the wider format, as CopyShape has it.
constexpr uint64_t copy_tile_elements(size_t from_bytes, size_t to_bytes) {
  return 32768 / (from_bytes > to_bytes ? from_bytes : to_bytes);
}

/// Moves elements, cast and multiplied.
template <class From, class To>
struct CopyStep {
  using V = Computed<From>;
  static constexpr int width = CopyShape<From, To>::width;
  V factor;

  DT_BOTH void one(std::byte* to, const std::byte* from) const {
    const From element = *reinterpret_cast<const From*>(from);
    To result;
    move(element, result);
    *reinterpret_cast<To*>(to) = result;
  }
  /// Neighbours in registers, as they are loaded.
  struct Group {
    From elements[width];
  };
  DT_BOTH static void load(Group& group, const std::byte* from) {
    DT_UNROLL
    for (size_t i = 0; i < sizeof(group) / sizeof(Chunk); ++i) {
      const Chunk chunk = load_chunk(from + i * sizeof(Chunk));
      memcpy(reinterpret_cast<std::byte*>(group.elements) + i * sizeof chunk, &chunk, sizeof chunk);
    }
  }
  DT_BOTH void store(std::byte* to, const Group& group) const {
    To results[width];
    DT_UNROLL
    for (int i = 0; i < width; ++i)
      move(group.elements[i], results[i]);
    DT_UNROLL
    for (size_t i = 0; i < width * sizeof(results[0]) / sizeof(Chunk); ++i) {
      Chunk chunk;
      memcpy(&chunk, reinterpret_cast<const std::byte*>(results) + i * sizeof chunk, sizeof chunk);
      store_chunk(to + i * sizeof chunk, chunk);
    }
  }

 private:
  DT_BOTH void move(const From& element, To& result) const {
    if constexpr (std::is_integral_v<From>) {
      result = element;
    } else {
      narrow_to(widened(element) * factor, result);
    }
  }
};

/// The part of elements [first, end) of the item that one of `threads` threads copies. A tile
/// begins at `first`.
template <class From, class To>
DT_BOTH void copy_range(const CopyItem& item, uint64_t first, uint64_t end,
                        const CopyStep<From, To>& step, const GridPlace& place) {
  using Copy = CopyStep<From, To>;
  constexpr int width = CopyShape<From, To>::width;
  constexpr int unroll = CopyShape<From, To>::unroll;
  // Tiles are a multiple of all widths, so each of them has the same head as its item.
  uint64_t head = item.head == no_aligned_element ? end - first : item.head;
  if (head > end - first) head = end - first;
  const std::byte* const from = item.from + (first + head) * sizeof(From);
  std::byte* const to = item.to + (first + head) * sizeof(To);
  const uint64_t groups = (end - first - head) / width;
  uint64_t group = place.thread;
  for (; group + (unroll - 1) * place.threads < groups; group += unroll * place.threads) {
    typename Copy::Group loaded[unroll];
    DT_UNROLL
    for (int i = 0; i < unroll; ++i) {
      const uint64_t at = (group + static_cast<uint64_t>(i) * place.threads) * width;
      Copy::load(loaded[i], from + at * sizeof(From));
    }
    DT_UNROLL
    for (int i = 0; i < unroll; ++i) {
      const uint64_t at = (group + static_cast<uint64_t>(i) * place.threads) * width;
      step.store(to + at * sizeof(To), loaded[i]);
    }
  }
  for (; group < groups; group += place.threads) {
    typename Copy::Group loaded;
    Copy::load(loaded, from + group * width * sizeof(From));
    step.store(to + group * width * sizeof(To), loaded);
  }
  for (uint64_t i = first + place.thread; i < first + head; i += place.threads)
    step.one(item.to + i * sizeof(To), item.from + i * sizeof(From));
  for (uint64_t i = first + head + groups * width + place.thread; i < end; i += place.threads)
    step.one(item.to + i * sizeof(To), item.from + i * sizeof(From));
}

/// True when the flag of a batch is set; the same at all threads of a block.
DT_BOTH bool is_skipped(const uint32_t* skip, [[maybe_unused]] const GridPlace& in_block) {
  if (skip == nullptr) return false;
#ifdef __CUDA_ARCH__
  // The flag may lie behind the bus, so one thread reads it.
  return __syncthreads_or(in_block.thread == 0 && SystemOrder::acquire(skip) != 0) != 0;
#else
  return SystemOrder::acquire(skip) != 0;
#endif
}

/// Returns the item in which a tile lies.
template <class Arguments>
DT_BOTH int item_of(const Arguments& arguments, uint64_t tile) {
  int begin = 0;
  int end = arguments.item_count;
  while (end - begin > 1) {
    const int middle = (begin + end) / 2;
    if (arguments.items[middle].tiles_before <= tile) {
      begin = middle;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// The part of all copies that one thread of one block makes. Blocks have neighbouring tiles, as
/// many each, so a block searches only its first one.
template <class From, class To, class Arguments>
DT_BOTH void copy_elements(const Arguments& arguments, const GridPlace& block,
                           const GridPlace& in_block) {
  using V = Computed<From>;
  constexpr uint64_t tile_elements = CopyShape<From, To>::tile_elements;
  if (is_skipped(arguments.skip, in_block)) return;
  const CopyStep<From, To> step{static_cast<V>(arguments.factor)};
  uint64_t tile = arguments.tile_count * block.thread / block.threads;
  const uint64_t tiles_end = arguments.tile_count * (block.thread + 1) / block.threads;
  for (int i = item_of(arguments, tile); tile < tiles_end; ++i) {
    const CopyItem& item = arguments.items[i];
    const uint64_t first = (tile - item.tiles_before) * tile_elements;
    uint64_t end = (tiles_end - item.tiles_before) * tile_elements;
    if (end > item.count) end = item.count;
    copy_range(item, first, end, step, in_block);
    tile = item.tiles_before + (end + tile_elements - 1) / tile_elements;
  }
}

}  // namespace dt
