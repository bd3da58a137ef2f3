#include "launcher/console/file_front.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>

namespace dt {

uint64_t drop_front(int file, FileFront& front, uint64_t bytes) {
  constexpr uint64_t block = 4096;
  const uint64_t before = front.dropped;
  const uint64_t wanted = (before + bytes + block - 1) / block * block;
  const uint64_t end = std::min(wanted, front.written);
  const int made =
      ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end));
  if (made == 0) {
    front.dropped = end;
    return end - before;
  }
  const uint64_t lost = front.kept();
  // A file that cannot be emptied counts as empty, too: nothing more can be done for its limit.
  if (::ftruncate(file, 0) == 0) static_cast<void>(::lseek(file, 0, SEEK_SET));
  front = {};
  return lost;
}

}  // namespace dt
