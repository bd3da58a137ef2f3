#include "cmd/bench/bench_buffer.h"

#include <utility>

namespace dt {

BenchBuffer::~BenchBuffer() {
  if (kind_ == Kind::library) world_.free(bytes_.data());
}

Result<> BenchBuffer::reserve(size_t bytes) {
  if (bytes <= bytes_.size()) return {};
  if (kind_ == Kind::user) {
    own_.resize(bytes);
    bytes_ = own_;
    return {};
  }
  // Freed first: memory for both may be too much.
  world_.free(std::exchange(bytes_, {}).data());
  void* const memory = TRY(world_.allocate(bytes));
  bytes_ = {static_cast<std::byte*>(memory), bytes};
  return {};
}

}  // namespace dt
