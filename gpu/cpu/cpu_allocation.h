#pragma once

#include "base/result.h"
#include "gpu/cpu/cpu_shared_memory.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// The byte that fills fresh memory: NaN in each float type.
inline constexpr std::byte poison{0xff};

/// Memory that a CPU device gave out. It is poisoned, and has a red zone on both sides, which shows
/// writes past its ends. Queued work shares it, so that it stays valid when it is freed too early.
class CpuAllocation {
 public:
  /// Which memory it stands for.
  struct Terms {
    int device = 0;
    bool pinned = false;  ///< memory of the host, allocated through `device`
    bool shared = false;  ///< other processes can open it
    bool pooled = false;  ///< kernels of other devices cannot use it
    size_t bytes = 0;
  };

  /// Fails with Errc::out_of_memory when this process gets no memory.
  static Result<std::shared_ptr<CpuAllocation>> make(const Terms& terms);
  /// Returns the first byte of an allocation in memory that another process shares, and how many
  /// bytes may follow. Null where that is too small for one.
  static std::span<std::byte> within(const CpuSharedMemory& memory);

  const Terms& terms() const { return terms_; }
  std::byte* at() const { return storage_[1].bytes; }
  /// Null: not shared.
  const std::shared_ptr<CpuSharedMemory>& shared() const { return shared_; }
  /// True for an address within the memory or its red zones.
  bool covers(const std::byte* address) const;
  /// True when all bytes from `address` lie within the memory.
  bool holds(const std::byte* address, size_t bytes) const;
  /// Returns a sentence about bytes that were written past the ends; none when there are none.
  std::optional<std::string> overrun() const;

  void mark_freed() { freed_.store(true); }
  bool freed() const { return freed_.load(); }

 private:
  static constexpr size_t block_bytes = 256;
  struct alignas(block_bytes) Block {
    std::byte bytes[block_bytes];
  };
  /// The number of blocks of the memory with its red zones, of which one follows the last byte.
  static size_t block_count(size_t bytes) { return bytes / block_bytes + 3; }

  explicit CpuAllocation(const Terms& terms) : terms_(terms) {}
  Result<> take_storage();
  size_t after_bytes() const;

  Terms terms_;
  std::unique_ptr<Block[]> own_ = {};             ///< null: shared
  std::shared_ptr<CpuSharedMemory> shared_ = {};  ///< null: own
  Block* storage_ = nullptr;                      ///< of either
  std::atomic<bool> freed_ = false;
};

}  // namespace dt
