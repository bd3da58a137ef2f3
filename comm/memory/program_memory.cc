#include "comm/memory/program_memory.h"

#include "base/format.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace dt {

ProgramMemory::~ProgramMemory() {
  free_all();
}

Result<void*> ProgramMemory::allocate(size_t bytes) {
  if (heap_) {
    Result<void*> shared = heap_->allocate(bytes);
    if (shared || shared.error().code != Errc::unsupported) return shared;
  }
  return allocate_private(bytes);
}

Result<void*> ProgramMemory::allocate_private(size_t bytes) {
  constexpr size_t huge = RangeList::huge_page_bytes;
  // A program cannot have more, and sums with it do not overflow.
  const size_t mapped = std::clamp<size_t>(bytes, 1, SIZE_MAX / 2);
  const std::scoped_lock lock(mutex_);
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_errno(format("cannot allocate {} bytes", bytes));
  if (mapped >= huge) madvise(memory, mapped, MADV_HUGEPAGE);
  private_.emplace(memory, mapped);
  return memory;
}

Result<> ProgramMemory::free(void* memory) {
  if (heap_ && heap_->free(memory)) return {};
  const std::scoped_lock lock(mutex_);
  const auto found = private_.find(memory);
  if (found == private_.end()) {
    return fail(Errc::input,
                "dtrain_free: this is not the begin of memory of dtrain_alloc of this "
                "job, or it was freed before");
  }
  munmap(found->first, found->second);
  private_.erase(found);
  return {};
}

void ProgramMemory::free_all() {
  if (heap_) heap_->free_all();
  const std::scoped_lock lock(mutex_);
  for (const auto& [memory, bytes] : std::exchange(private_, {}))
    munmap(memory, bytes);
}

}  // namespace dt
