#include "launcher/process/open_files.h"

#include <sys/resource.h>

namespace dt {

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

uint64_t open_files_of_tasks(int tasks, uint64_t port_files) {
  constexpr uint64_t a_task = 4;
  constexpr uint64_t for_a_moment = 12;
  return static_cast<uint64_t>(tasks) * a_task + port_files + for_a_moment;
}

}  // namespace dt
