#include "comm/peer/message_memory.h"

#include "comm/memory/large_bytes.h"

#include <utility>

namespace dt {

namespace {
/// Short messages leave the memory to long ones.
constexpr size_t kept_bytes_min = size_t{64} << 10;
constexpr size_t used_part_min = 4;
}  // namespace

std::shared_ptr<Bytes> MessageMemory::take(size_t size) {
  if (size < kept_bytes_min) return std::make_shared<Bytes>(size);
  // A much shorter message does not occupy the block either.
  if (size < spare_->capacity() / used_part_min) return std::make_shared<Bytes>(size);
  used_ = true;
  auto taken = std::make_unique<Bytes>(std::exchange(*spare_, {}));
  if (taken->capacity() < size) {
    *taken = Bytes();  // frees its memory first
    *taken = make_large_bytes(size);
  }
  taken->resize(size);
  const auto give_back = [spare = spare_](Bytes* bytes) {
    const std::unique_ptr<Bytes> owned(bytes);
    if (owned->capacity() > spare->capacity()) std::swap(*owned, *spare);
  };
  return {taken.release(), give_back};
}

Time MessageMemory::free_unused(Time now) {
  if (std::exchange(used_, false)) free_at_ = now + unused_max;
  if (spare_->capacity() == 0) return Time::max();
  if (now < free_at_) return free_at_;
  *spare_ = Bytes();
  return Time::max();
}

}  // namespace dt
