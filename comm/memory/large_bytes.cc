#include "comm/memory/large_bytes.h"

#include "comm/memory/range_list.h"

#include <sys/mman.h>

#include <memory>

namespace dt {

namespace {

/// Returns no bytes, with room for so many.
Bytes reserve_large_bytes(size_t size) {
  constexpr size_t huge = RangeList::huge_page_bytes;
  Bytes bytes;
  bytes.reserve(size);
  void* memory = bytes.data();
  size_t room = bytes.capacity();
  if (std::align(huge, huge, memory, room) != nullptr)
    madvise(memory, room / huge * huge, MADV_HUGEPAGE);
  return bytes;
}

}  // namespace

Bytes make_large_bytes(size_t size) {
  Bytes bytes = reserve_large_bytes(size);
  bytes.resize(size);
  return bytes;
}

Bytes copy_to_large_bytes(ByteSpan bytes) {
  Bytes copy = reserve_large_bytes(bytes.size());
  copy.insert(copy.end(), bytes.begin(), bytes.end());
  return copy;
}

}  // namespace dt
