#pragma once

#include <cstdint>

namespace dt {

/// The oldest bytes that a growing file has lost.
struct FileFront {
  uint64_t written = 0;  ///< all bytes so far
  uint64_t dropped = 0;  ///< of these, the ones that are gone
  uint64_t kept() const { return written - dropped; }
};

/// Frees the space of at least the oldest `bytes` of a file, in whole blocks. The offsets of the
/// others stay, so that a reader continues where it is: it finds a hole before them. Where the file
/// system makes no holes, the file loses all its bytes. Returns how many it has lost.
uint64_t drop_front(int file, FileFront& front, uint64_t bytes);

}  // namespace dt
