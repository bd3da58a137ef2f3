#pragma once

#include "cmd/complete.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The hosts of an OpenSSH client configuration: names behind `Host` that are no patterns, and the
/// arguments of `Include`.
struct SshConfig {
  std::vector<std::string> hosts;
  std::vector<std::string> includes;
  bool operator==(const SshConfig&) const = default;
};
SshConfig parse_ssh_config(std::string_view text);

/// Completes the last host of a list such as "node1:4,no". Offers this machine, the hosts of the
/// hostfile, and those of ~/.ssh/config and its included files. The hostfile is the one on the
/// line, else DTRAIN_OPT_HOSTFILE, else ./hostfile. Omits hosts that are in the list already.
/// Offers the slots of the hostfile behind "node1:", and file names behind "@".
Completion complete_hosts(std::string_view typed, const std::optional<std::string>& hostfile,
                          const CompletionReaders& readers);

}  // namespace dt
