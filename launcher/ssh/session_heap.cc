#include "launcher/ssh/session_heap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dt {

SessionHeap::~SessionHeap() {
  for (const auto& [block, size] : blocks_)
    std::free(block);
}

void* SessionHeap::allocate(size_t size) {
  if (size > bytes_max_ - bytes_) return nullptr;
  void* block = std::malloc(std::max<size_t>(size, 1));
  if (block == nullptr) return nullptr;
  blocks_.emplace(block, size);
  bytes_ += size;
  return block;
}

void* SessionHeap::resize(void* block, size_t size) {
  if (block == nullptr) return allocate(size);
  void* const moved = allocate(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(size, blocks_.at(block)));
  release(block);
  return moved;
}

void SessionHeap::release(void* block) {
  const auto at = blocks_.find(block);
  if (at == blocks_.end()) return;
  bytes_ -= at->second;
  blocks_.erase(at);
  std::free(block);
}

}  // namespace dt
