#include "comm/transport/shm_segment.h"

#include "base/format.h"
#include "comm/memory/sealed_memory.h"
#include "comm/memory/shared_area.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <string>

namespace dt {

namespace {

// Layout: each slot has a SleepFlag and the tickets of an AreaPool. Each ordered pair of slots has
// a RingControl. From a page boundary on follow the two areas, and behind them the rings' data. The
// pool's parts begin at a page, and the heap's at a huge page. These two are sparse.
constexpr size_t ring_bytes_max = size_t{256} << 10;
constexpr size_t ring_bytes_min = size_t{2} << 10;
constexpr size_t all_rings_bytes_max = size_t{32} << 20;
constexpr size_t page_bytes = 4096;
constexpr uint64_t all_heap_bytes_max = uint64_t{1} << 45;

struct alignas(shared_line_bytes) SleepFlag {
  std::atomic<uint32_t> asleep;
};

size_t pair_count(int slots) {
  return static_cast<size_t>(slots) * static_cast<size_t>(slots - 1);
}

size_t tickets_at(int slots) {
  return static_cast<size_t>(slots) * sizeof(SleepFlag);
}

size_t controls_at(int slots) {
  return tickets_at(slots) + static_cast<size_t>(slots) * sizeof(AreaPool::Tickets);
}

size_t page_above(size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

size_t area_at(int slots) {
  return page_above(controls_at(slots) + pair_count(slots) * sizeof(RingControl));
}

size_t area_bytes(int slots) {
  return page_above(SharedArea::bytes_for(slots));
}

size_t data_at(int slots) {
  return area_at(slots) + 2 * area_bytes(slots);
}

size_t segment_bytes(int slots) {
  return data_at(slots) + pair_count(slots) * ShmSegment::ring_bytes(slots);
}

size_t pool_at(int slots) {
  return page_above(segment_bytes(slots));
}

size_t pool_end(int slots) {
  return pool_at(slots) + page_above(AreaPool::bytes_for(slots));
}

uint64_t heap_at(int slots) {
  constexpr size_t huge = RangeList::huge_page_bytes;
  return (pool_end(slots) + huge - 1) / huge * huge;
}

/// Returns how much of the file each slot may allocate: as much as the host has memory. Less for
/// many slots, since each process has addresses for all of them. Returns 0 if this process may not
/// make such a file.
size_t heap_part_bytes(int slots) {
  struct sysinfo host = {};
  if (sysinfo(&host) < 0) return 0;
  const uint64_t ram = std::bit_ceil(uint64_t{host.totalram} * host.mem_unit);
  const uint64_t share = all_heap_bytes_max / std::bit_ceil(static_cast<uint64_t>(slots));
  const uint64_t part = std::min(ram, share);
  return may_make(heap_at(slots) + part * static_cast<uint64_t>(slots)) ? part : 0;
}

}  // namespace

size_t ShmSegment::ring_bytes(int slots) {
  assert(slots >= 2);
  return std::clamp(std::bit_floor(all_rings_bytes_max / pair_count(slots)), ring_bytes_min,
                    ring_bytes_max);
}

Result<std::shared_ptr<ShmSegment>> ShmSegment::create(int slots,
                                                       const AvailableMemory& available) {
  const size_t bytes = segment_bytes(slots);
  Fd memory =
      TRY(allocate_shared(format("shared memory for {} local ranks", slots), bytes, available));
  const size_t part = heap_part_bytes(slots);
  const uint64_t end = heap_at(slots) + part * static_cast<uint64_t>(slots);
  const uint64_t size = part > 0 ? end : may_make(pool_end(slots)) ? pool_end(slots) : bytes;
  if (ftruncate(memory.get(), static_cast<off_t>(size)) < 0)
    return fail_errno("cannot extend shared memory");
  TRY(seal_size(memory.get()));
  return map(std::move(memory), slots, {.has_pool = size > bytes, .heap_part_bytes = part});
}

Result<std::shared_ptr<ShmSegment>> ShmSegment::open(Fd memory, int slots) {
  const uint64_t bytes = TRY(sealed_size(memory.get()));
  if (bytes == segment_bytes(slots) || bytes == pool_end(slots))
    return map(std::move(memory), slots, {.has_pool = bytes > segment_bytes(slots)});
  const uint64_t heap = bytes - std::min(bytes, heap_at(slots));
  const uint64_t part = heap / static_cast<uint64_t>(slots);
  if (!std::has_single_bit(part) || part * static_cast<uint64_t>(slots) != heap) {
    return fail(Errc::protocol,
                format("the shared memory of this host has {} bytes, which does not fit {} local "
                       "ranks",
                       bytes, slots));
  }
  return map(std::move(memory), slots, {.has_pool = true, .heap_part_bytes = part});
}

Result<std::shared_ptr<ShmSegment>> ShmSegment::map(Fd memory, int slots, Sparse sparse) {
  const size_t bytes = segment_bytes(slots);
  std::byte* const base = TRY(map_shared(memory.get(), bytes));
  std::shared_ptr<ShmSegment> segment(
      new ShmSegment(std::move(memory), base, slots, sparse.heap_part_bytes));
  if (sparse.has_pool) segment->map_pool();
  return segment;
}

/// Maps the pool's parts. A process without addresses for them (ulimit -v) has no pool.
void ShmSegment::map_pool() {
  const size_t bytes = pool_end(slots_) - pool_at(slots_);
  void* pool = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(),
                    static_cast<off_t>(pool_at(slots_)));
  if (pool == MAP_FAILED) return;
  madvise(pool, bytes, MADV_DONTFORK);
  pool_ = static_cast<std::byte*>(pool);
}

ShmSegment::ShmSegment(Fd memory, std::byte* base, int slots, size_t heap_part_bytes)
    : memory_(std::move(memory)), base_(base), slots_(slots), heap_part_bytes_(heap_part_bytes) {
}

ShmSegment::~ShmSegment() {
  munmap(base_, segment_bytes(slots_));
  if (pool_ != nullptr) munmap(pool_, pool_end(slots_) - pool_at(slots_));
}

std::span<AreaPool::Tickets> ShmSegment::tickets() const {
  return {reinterpret_cast<AreaPool::Tickets*>(base_ + tickets_at(slots_)),
          static_cast<size_t>(slots_)};
}

bool ShmSegment::back_pool(size_t begin, size_t bytes) const {
  const std::optional<uint64_t> have = available_memory();
  if (have && bytes > *have) return false;
  return allocate_in(memory_.get(), pool_at(slots_) + begin, bytes) == 0;
}

std::atomic<uint32_t>& ShmSegment::asleep(int slot) const {
  assert(slot >= 0 && slot < slots_);
  // New memory is zero, which is the initial state of flags and controls.
  return reinterpret_cast<SleepFlag*>(base_)[slot].asleep;
}

size_t ShmSegment::ring_index(Pair pair) const {
  assert(pair.from >= 0 && pair.from < slots_ && pair.to >= 0 && pair.to < slots_);
  assert(pair.from != pair.to);
  // A row of slots - 1 rings for each sender: it has none to itself.
  const int column = pair.to > pair.from ? pair.to - 1 : pair.to;
  return static_cast<size_t>(pair.from) * static_cast<size_t>(slots_ - 1) +
         static_cast<size_t>(column);
}

RingControl& ShmSegment::control(Pair pair) const {
  return reinterpret_cast<RingControl*>(base_ + controls_at(slots_))[ring_index(pair)];
}

ShmRings ShmSegment::rings(const std::shared_ptr<ShmSegment>& segment, Pair pair) {
  const Pair back = {pair.to, pair.from};
  return {.memory = segment,
          .out = &segment->control(pair),
          .out_data = segment->data(pair),
          .in = &segment->control(back),
          .in_data = segment->data(back)};
}

std::span<std::byte> ShmSegment::area(Area area) const {
  const size_t before = area == Area::named ? area_bytes(slots_) : 0;
  return {base_ + area_at(slots_) + before, SharedArea::bytes_for(slots_)};
}

SharedHeap::File ShmSegment::heap_file() const {
  return {.fd = memory_.get(),
          .begin = heap_at(slots_),
          .part_bytes = heap_part_bytes_,
          .parts = slots_};
}

std::span<std::byte> ShmSegment::data(Pair pair) const {
  const size_t bytes = ring_bytes(slots_);
  return {base_ + data_at(slots_) + ring_index(pair) * bytes, bytes};
}

}  // namespace dt
