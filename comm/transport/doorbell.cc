#include "comm/transport/doorbell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace dt {

Result<Fd> make_doorbell() {
  Fd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return fail_errno("cannot make an event descriptor");
  return fd;
}

void ring(int doorbell) {
  constexpr uint64_t one = 1;
  // Any other failure means that the counter is full: the doorbell rings already.
  while (::write(doorbell, &one, sizeof one) < 0 && errno == EINTR)
    continue;
}

void silence(int doorbell) {
  uint64_t rings = 0;
  while (::read(doorbell, &rings, sizeof rings) < 0 && errno == EINTR)
    continue;
}

}  // namespace dt
