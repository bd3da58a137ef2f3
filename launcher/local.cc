#include "base/format.h"
#include "launcher/carrier.h"

#include <unistd.h>

#include <csignal>

namespace dt {

Result<Carrier> start_local_agent(uint64_t open_files_max) {
  SocketPair link = TRY(make_socketpair());
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at)
    environment.emplace_back(*at);
  Child agent = TRY(Child::start({.path = "/proc/self/exe",
                                  .arguments = {"dtrain", "agent"},
                                  .environment = std::move(environment),
                                  .cwd = {},
                                  .input = link.theirs.get(),
                                  .output = link.theirs.get(),
                                  .death_signal = SIGTERM,
                                  .open_files_max = open_files_max,
                                  .new_session = true}));
  TRY(set_nonblocking(link.ours.get()));
  return Carrier{std::move(link.ours), Fd(), std::move(agent)};
}

}  // namespace dt
