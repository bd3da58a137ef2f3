#include "launcher/process/open_files.h"

#include "base/format.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>

namespace dt {

namespace {

uint64_t open_files_limit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

uint64_t raise_open_files_limit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  set_open_files_limit(limit.rlim_max);
  return limit.rlim_cur;
}

void set_open_files_limit(uint64_t soft) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = soft;
  setrlimit(RLIMIT_NOFILE, &limit);
}

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

Result<> check_open_files(uint64_t more, std::string_view for_what) {
  const uint64_t need = count_open_files() + more;
  const uint64_t limit = open_files_limit();
  if (need <= limit) return {};
  return fail(Errc::input, format("{} need {} open files, the hard limit is {}; raise it (ulimit "
                                  "-Hn), or start fewer",
                                  for_what, need, limit));
}

uint64_t open_files_of_tasks(int tasks, uint64_t port_files) {
  constexpr uint64_t a_task = 4;
  constexpr uint64_t for_a_moment = 12;
  return static_cast<uint64_t>(tasks) * a_task + port_files + for_a_moment;
}

}  // namespace dt
