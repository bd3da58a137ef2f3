#pragma once

#include <cstdint>

namespace dt {

/// The threads of a block on the host, one after the other, as PeerAllReduceBlock takes them.
struct OneThread {
  template <class Function>
  void for_each(uint64_t count, const Function& function) const {
    for (uint64_t i = 0; i < count; ++i)
      function(i);
  }
  void sync() const {}
  bool all(bool value) const { return value; }
};

}  // namespace dt
