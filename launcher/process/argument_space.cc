#include "launcher/process/argument_space.h"

#include "base/format.h"

#include <sys/resource.h>

#include <algorithm>

namespace dt {

uint64_t argument_bytes(const std::vector<std::string>& arguments) {
  uint64_t bytes = 0;
  for (const std::string& argument : arguments)
    bytes += argument.size() + 1 + sizeof(char*);
  return bytes;
}

uint64_t argument_bytes(const Environment& environment) {
  uint64_t bytes = 0;
  for (const auto& [name, value] : environment)
    bytes += name.size() + 1 + value.size() + 1 + sizeof(char*);
  return bytes;
}

uint64_t argument_bytes_max(uint64_t stack_bytes) {
  constexpr uint64_t least = uint64_t{128} << 10;
  constexpr uint64_t most = uint64_t{6} << 20;
  return std::clamp(stack_bytes / 4, least, most);
}

uint64_t own_argument_bytes_max() {
  rlimit stack = {};
  getrlimit(RLIMIT_STACK, &stack);
  return argument_bytes_max(stack.rlim_cur);
}

Result<> check_argument_space(const std::vector<std::string>& command, uint64_t environment_bytes,
                              uint64_t bytes_max) {
  const uint64_t bytes = argument_bytes(command) + environment_bytes;
  if (bytes <= bytes_max) return {};
  return fail(Errc::input,
              format("the command and its environment can take {} bytes, and a program can be "
                     "started with {} here (a quarter of ulimit -s); leave variables out with "
                     "--env-exclude",
                     bytes, bytes_max));
}

}  // namespace dt
