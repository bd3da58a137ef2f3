#include "cmd/bench/bench_buffer.h"

#include <utility>

namespace dt {

BenchBuffer::~BenchBuffer() {
  if (kind_ == Kind::library) world_.free(bytes_.data());
}

Result<> BenchBuffer::reserve(size_t bytes) {
  if (bytes <= bytes_.size()) return {};
  if (kind_ == Kind::device) return allocate_on_device(bytes);
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

Result<> BenchBuffer::allocate_on_device(size_t bytes) {
  bytes_ = {};
  on_device_ = DeviceBuffer();
  on_device_ = TRY(device_->allocate(bytes));
  own_.assign(bytes, std::byte{0});
  bytes_ = {on_device_.at(), bytes};
  return upload(bytes);
}

Result<> BenchBuffer::upload(size_t bytes) {
  if (kind_ != Kind::device) return {};
  return device_->copy({.to = data(), .from = host(), .bytes = bytes});
}

Result<> BenchBuffer::download(size_t bytes) {
  if (kind_ != Kind::device) return {};
  return device_->copy({.to = host(), .from = data(), .bytes = bytes});
}

}  // namespace dt
