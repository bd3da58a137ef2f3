#include "comm/memory/shared_heap.h"

#include "base/format.h"
#include "base/io/blocked_signals.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>

namespace dt {

namespace {

/// A signal is delivered after so many bytes at most.
constexpr size_t allocated_at_once = size_t{64} << 20;
// Values of madvise(2) that older headers lack.
constexpr int advice_populate_write = 23;
constexpr int advice_collapse = 25;

/// Allocates a piece of a file with signals blocked. A signal would interrupt it with nothing done.
int allocate_piece(int fd, uint64_t begin, size_t bytes) {
  const BlockedSignals blocked;
  return posix_fallocate(fd, static_cast<off_t>(begin), static_cast<off_t>(bytes));
}

int allocate_file(int fd, uint64_t begin, size_t bytes) {
  for (size_t done = 0; done < bytes; done += allocated_at_once) {
    const size_t piece = std::min(allocated_at_once, bytes - done);
    if (const int error = allocate_piece(fd, begin + done, piece); error != 0) return error;
  }
  return 0;
}

/// Asks for huge pages, with one page in each: the kernel makes none from a hole. Without them, a
/// buffer beyond the caches is up to a third slower. Whatever fails here, allocate_file() follows.
void prefer_huge_pages(std::byte* begin, size_t bytes) {
  constexpr size_t huge = RangeList::huge_page_bytes;
  const size_t whole = bytes / huge * huge;
  for (size_t at = 0; at < whole; at += huge)
    madvise(begin + at, RangeList::page_bytes, advice_populate_write);
  if (whole > 0) madvise(begin, whole, advice_collapse);
}

tl::unexpected<Error> too_little(size_t wanted, std::optional<uint64_t> available) {
  return too_little_memory("shared memory", wanted, available);
}

}  // namespace

SharedHeap::SharedHeap(std::shared_ptr<void> owner, const File& file, int own_part,
                       AvailableMemory available)
    : owner_(std::move(owner)),
      file_(file),
      available_(std::move(available)),
      own_at_(static_cast<size_t>(own_part) * file.part_bytes),
      ranges_(file.part_bytes) {
  assert(own_part >= 0 && own_part < file.parts);
  assert(file.begin % RangeList::huge_page_bytes == 0);
  assert(file.part_bytes % RangeList::huge_page_bytes == 0);
}

SharedHeap::~SharedHeap() {
  free_all();
  if (base() != nullptr) munmap(base(), file_.part_bytes * static_cast<size_t>(file_.parts));
}

Result<void*> SharedHeap::allocate(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  TRY(map());
  const std::optional<RangeList::Range> range = ranges_.take(bytes);
  if (!range) return too_little(bytes, ranges_.largest_free());
  if (const Result<> backed = back(*range); !backed) {
    drop(*range);
    ranges_.give_back(range->begin);
    return tl::unexpected(backed.error());
  }
  return own_begin() + range->begin;
}

bool SharedHeap::free(void* memory) {
  const std::scoped_lock lock(mutex_);
  auto* const begin = static_cast<std::byte*>(memory);
  if (!place_of(begin, 1)) return false;
  const auto at = static_cast<size_t>(begin - own_begin());
  const auto found = ranges_.taken().find(at);
  if (found == ranges_.taken().end()) return false;
  drop({found->first, found->second});
  ranges_.give_back(at);
  return true;
}

void SharedHeap::free_all() {
  const std::scoped_lock lock(mutex_);
  while (!ranges_.taken().empty()) {
    const auto& [begin, bytes] = *ranges_.taken().begin();
    drop({begin, bytes});
    ranges_.give_back(begin);
  }
}

std::byte* SharedHeap::own_begin() const {
  return base() + own_at_;
}

uint64_t SharedHeap::file_offset(size_t in_part) const {
  return file_.begin + own_at_ + in_part;
}

std::optional<uint64_t> SharedHeap::place_of(const void* begin, size_t bytes) const {
  if (base() == nullptr || bytes > file_.part_bytes) return std::nullopt;
  // As numbers: the pointer may belong to other memory.
  const auto at = reinterpret_cast<uintptr_t>(begin) - reinterpret_cast<uintptr_t>(own_begin());
  if (at > file_.part_bytes - bytes) return std::nullopt;
  return own_at_ + at;
}

const std::byte* SharedHeap::at(uint64_t place, size_t bytes) const {
  const size_t all = file_.part_bytes * static_cast<size_t>(file_.parts);
  if (bytes > all || place > all - bytes) return nullptr;
  return base() + place;
}

/// Maps all parts at addresses that huge pages need. Nothing in them has memory yet.
Result<> SharedHeap::map() {
  if (base() != nullptr) return {};
  constexpr size_t huge = RangeList::huge_page_bytes;
  const size_t bytes = file_.part_bytes * static_cast<size_t>(file_.parts);
  void* const reserved =
      mmap(nullptr, bytes + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return fail(Errc::unsupported,
                format("cannot reserve {} MiB of addresses: {}", bytes >> 20, errno_text(errno)));
  }
  auto* const begin = static_cast<std::byte*>(reserved);
  const size_t skipped = (huge - reinterpret_cast<uintptr_t>(begin) % huge) % huge;
  std::byte* const base = begin + skipped;
  void* const mapped = mmap(base, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file_.fd,
                            static_cast<off_t>(file_.begin));
  const int error = errno;
  // Around it, nothing stays reserved.
  if (skipped > 0) munmap(begin, skipped);
  munmap(base + bytes, huge - skipped);
  if (mapped == MAP_FAILED) {
    munmap(base, bytes);
    return fail(Errc::unsupported, format("cannot map shared memory: {}", errno_text(error)));
  }
  // A core dump would fill every hole with memory. A forked child never reads other tasks' parts.
  madvise(base, bytes, MADV_DONTDUMP);
  madvise(base, bytes, MADV_HUGEPAGE);
  madvise(base, own_at_, MADV_DONTFORK);
  const size_t own_end = own_at_ + file_.part_bytes;
  madvise(base + own_end, bytes - own_end, MADV_DONTFORK);
  // An access to a hole would fill it, so the process may only touch what is allocated.
  mprotect(base + own_at_, file_.part_bytes, PROT_NONE);
  base_.store(base, std::memory_order_release);
  return {};
}

/// Gives a range memory, and lets the program use it.
Result<> SharedHeap::back(RangeList::Range range) {
  // The kernel ends processes when a limit is reached, so what it has left is compared first.
  const std::optional<uint64_t> available = available_();
  if (available && range.bytes > *available) return too_little(range.bytes, available);
  std::byte* const begin = own_begin() + range.begin;
  if (mprotect(begin, range.bytes, PROT_READ | PROT_WRITE) < 0)
    return fail_errno("cannot make shared memory writable");
  prefer_huge_pages(begin, range.bytes);
  const int error = allocate_file(file_.fd, file_offset(range.begin), range.bytes);
  if (error == ENOSPC || error == ENOMEM) return too_little(range.bytes, available);
  if (error != 0) {
    return fail_errno(format("cannot allocate {} KiB of shared memory", range.bytes >> 10), error);
  }
  // Now rather than in the first operation; an older kernel does it there.
  madvise(begin, range.bytes, advice_populate_write);
  return {};
}

/// Takes the memory of a range away, in all tasks.
void SharedHeap::drop(RangeList::Range range) {
  mprotect(own_begin() + range.begin, range.bytes, PROT_NONE);
  fallocate(file_.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(file_offset(range.begin)), static_cast<off_t>(range.bytes));
}

}  // namespace dt
