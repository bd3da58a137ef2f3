#include "comm/transport/pair_memory.h"

#include "base/format.h"
#include "comm/memory/sealed_memory.h"
#include "comm/memory/shared_line.h"

#include <sys/mman.h>

#include <array>
#include <utility>

namespace dt {

/// The arrays have an element of each side. A ring belongs to the side that writes into it.
struct PairMemory::Layout {
  struct SleepFlag {
    alignas(shared_line_bytes) std::atomic<uint32_t> asleep;
  };
  std::array<SleepFlag, 2> flags;
  std::array<RingControl, 2> controls;
  alignas(4096) std::array<std::array<std::byte, ring_bytes>, 2> data;
};

Result<std::shared_ptr<PairMemory>> PairMemory::create(const AvailableMemory& available) {
  Fd memory = TRY(allocate_shared("shared memory for a connection", sizeof(Layout), available));
  TRY(seal_size(memory.get()));
  const int fd = memory.get();
  return map(std::move(memory), fd);
}

Result<std::shared_ptr<PairMemory>> PairMemory::open(const Fd& memory) {
  const uint64_t bytes = TRY(sealed_size(memory.get()));
  if (bytes != sizeof(Layout)) {
    return fail(Errc::protocol,
                format("the shared memory of a connection has {} bytes; expected {}", bytes,
                       sizeof(Layout)));
  }
  // The other task has allocated it. If it has not, no access here may fail for that.
  if (const int error = allocate_in(memory.get(), 0, sizeof(Layout)); error != 0)
    return fail_errno("cannot allocate the shared memory of a connection", error);
  return map(Fd(), memory.get());
}

Result<std::shared_ptr<PairMemory>> PairMemory::map(Fd memory, int fd) {
  std::byte* const base = TRY(map_shared(fd, sizeof(Layout)));
  return std::shared_ptr<PairMemory>(new PairMemory(std::move(memory), base));
}

// New memory is zero, which is the initial state of flags and controls.
PairMemory::PairMemory(Fd memory, std::byte* base)
    : memory_(std::move(memory)), layout_(reinterpret_cast<Layout*>(base)) {
}

PairMemory::~PairMemory() {
  munmap(layout_, sizeof(Layout));
}

std::atomic<uint32_t>& PairMemory::asleep(Side side) const {
  return layout_->flags.at(static_cast<size_t>(side)).asleep;
}

ShmRings PairMemory::rings(const std::shared_ptr<PairMemory>& memory, Side side) {
  const auto own = static_cast<size_t>(side);
  Layout& layout = *memory->layout_;
  return {.memory = memory,
          .out = &layout.controls.at(own),
          .out_data = layout.data.at(own),
          .in = &layout.controls.at(1 - own),
          .in_data = layout.data.at(1 - own)};
}

}  // namespace dt
