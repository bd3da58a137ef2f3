#include "base/format.h"
#include "launcher/carrier.h"
#include "launcher/executable.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace dt {

namespace {

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** at = environ; *at != nullptr; ++at)
    entries.emplace_back(*at);
  return entries;
}

}  // namespace

Result<Carrier> start_local_agent(uint64_t open_files_max) {
  SocketPair link = TRY(make_socketpair());
  Child agent = TRY(Child::start({.path = "/proc/self/exe",
                                  .arguments = {"dtrain", "agent"},
                                  .environment = own_environment(),
                                  .cwd = {},
                                  .input = link.theirs.get(),
                                  .output = link.theirs.get(),
                                  .death_signal = SIGTERM,
                                  .open_files_max = open_files_max,
                                  .new_session = true}));
  TRY(set_nonblocking(link.ours.get()));
  return Carrier{std::move(link.ours), Fd(), std::move(agent), Fd()};
}

Result<Carrier> start_client(const std::vector<std::string>& words) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): before any thread
  const std::string program =
      TRY(find_executable(words.front(), path == nullptr ? "/usr/bin:/bin" : path, "."));
  SocketPair link = TRY(make_socketpair());
  Pipe messages = TRY(make_pipe());
  Child client = TRY(Child::start({.path = program,
                                   .arguments = words,
                                   .environment = own_environment(),
                                   .cwd = {},
                                   .input = link.theirs.get(),
                                   .output = link.theirs.get(),
                                   .error = messages.write.get(),
                                   .death_signal = SIGTERM,
                                   .new_session = true}));
  TRY(set_nonblocking(link.ours.get()));
  TRY(set_nonblocking(messages.read.get()));
  return Carrier{std::move(link.ours), Fd(), std::move(client), std::move(messages.read)};
}

}  // namespace dt
