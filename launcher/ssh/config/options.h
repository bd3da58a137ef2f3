#pragma once

#include "launcher/ssh/config/ssh_config.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One value as it was written.
struct SshOption {
  std::vector<std::string> words;
  std::string place;
  /// In one of the user's files or on the command line, not in the system's. OpenSSH keeps those
  /// apart when it looks for doubles.
  bool of_user = true;
};

/// What the files, or `ssh -G`, say of one host, before defaults and tokens.
struct SshOptions {
  std::map<std::string, SshOption, std::less<>> first;                   ///< the value that won
  std::map<std::string, std::vector<SshOption>, std::less<>> collected;  ///< identityfile, …
  std::vector<SshDirective> beyond;
  std::vector<SshDirective> needs_openssh;

  /// The first word of the value that won; empty when there is none.
  std::string_view word(std::string_view name) const;
};

/// Whether host_name and the paths are resolved already, as `ssh -G` prints some of them.
enum class SshResolved : uint8_t { no, yes };

/// Defaults, tokens, and the request's own values put in. An error is one that ssh would fail with.
Result<SshSettings> make_ssh_settings(SshOptions options, const SshRequest& request,
                                      const SshWorld& world, SshResolved resolved);

}  // namespace dt
