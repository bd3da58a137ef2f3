#pragma once

#include "comm/transport/link.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace dt {

/// One direction between two MemoryLinks.
struct MemoryPipe {
  std::deque<std::byte> bytes;
  size_t capacity = 1 << 20;
  size_t piece_max = 1 << 20;  ///< of one send or receive
  bool closed = false;
  int sends = 0;  ///< calls of send_parts
};

/// A Link in memory, whose pipes a test can look into, fill and close.
class MemoryLink final : public Link {
 public:
  MemoryLink(std::shared_ptr<MemoryPipe> out, std::shared_ptr<MemoryPipe> in)
      : out_(std::move(out)), in_(std::move(in)) {}

  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    if (out_->closed) return fail(Errc::closed, "closed");
    ++out_->sends;
    size_t sent = 0;
    for (const ByteSpan part : parts) {
      const size_t room = std::min(out_->capacity - out_->bytes.size(), out_->piece_max - sent);
      const ByteSpan taken = part.first(std::min(part.size(), room));
      out_->bytes.insert(out_->bytes.end(), taken.begin(), taken.end());
      sent += taken.size();
    }
    return sent;
  }

  Result<size_t> receive(std::span<std::byte> into) override {
    if (in_->bytes.empty() && in_->closed) return fail(Errc::closed, "closed");
    const size_t size = std::min({into.size(), in_->bytes.size(), in_->piece_max});
    const auto end = in_->bytes.begin() + static_cast<std::ptrdiff_t>(size);
    std::copy(in_->bytes.begin(), end, into.begin());
    in_->bytes.erase(in_->bytes.begin(), end);
    return size;
  }

  void close() override {
    out_->closed = true;
    in_->closed = true;
  }

  bool exposed() const override { return false; }

 private:
  std::shared_ptr<MemoryPipe> out_;
  std::shared_ptr<MemoryPipe> in_;
};

}  // namespace dt
