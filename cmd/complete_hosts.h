#pragma once

#include "cmd/complete.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// What an OpenSSH client configuration says of hosts: names behind `Host` that are no patterns,
/// and the arguments of `Include`.
struct SshConfig {
  std::vector<std::string> hosts;
  std::vector<std::string> includes;
  bool operator==(const SshConfig&) const = default;
};
SshConfig parse_ssh_config(std::string_view text);

/// Completes the last host of a list such as "node1:4,no". Known are this machine, the hosts of the
/// hostfile (the one on the line, else DTRAIN_OPT_HOSTFILE, else ./hostfile) and those of
/// ~/.ssh/config and what it includes; hosts that the list names already are left out. Behind
/// "node1:" come the slots that the hostfile gives it, behind "@" a file's name.
Completion complete_hosts(std::string_view typed, const std::optional<std::string>& hostfile,
                          const CompletionReaders& readers);

}  // namespace dt
