#include "base/io/open_files.h"

#include "base/format.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>

namespace dt {

uint64_t count_open_files() {
  const char* const folder = "/proc/self/fd";
  struct stat status = {};
  // Linux 6.2 and newer report the count as the folder's size; older kernels report 0.
  if (::stat(folder, &status) == 0 && status.st_size > 0) {
    return static_cast<uint64_t>(status.st_size);
  }
  std::error_code failed;
  uint64_t count = 0;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the iterator's own descriptor
}

Result<> ensure_open_files(uint64_t more, std::string_view for_what) {
  const uint64_t need = count_open_files() + more;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (need <= limit.rlim_cur) return {};
  if (need > limit.rlim_max) {
    return fail(Errc::input, format("{} need {} open files, the hard limit is {}; raise it (ulimit "
                                    "-Hn), or start fewer",
                                    for_what, need, limit.rlim_max));
  }
  limit.rlim_cur = need;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return fail_errno(
      format("{} need {} open files, and the limit cannot be raised", for_what, need));
}

}  // namespace dt
