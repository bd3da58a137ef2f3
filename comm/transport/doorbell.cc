#include "comm/transport/doorbell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace dt {

Result<Fd> make_doorbell() {
  Fd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return fail_errno("cannot make an event descriptor");
  return fd;
}

void ring(int doorbell) {
  constexpr uint64_t one = 1;
  // It fails only when the counter is full, and then it is ringing already.
  [[maybe_unused]] const ssize_t n = ::write(doorbell, &one, sizeof one);
}

void silence(int doorbell) {
  uint64_t rings = 0;
  [[maybe_unused]] const ssize_t n = ::read(doorbell, &rings, sizeof rings);
}

}  // namespace dt
