#pragma once

#include "launcher/ssh/config/ssh_config.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One value as it was written.
struct SshOption {
  std::vector<std::string> words;
  std::string place;
  /// True in the user's files and on the command line, false in the system's files. OpenSSH removes
  /// duplicates within each of these two groups only.
  bool of_user = true;
};

/// One host's options from the files or from `ssh -G`, before defaults and tokens.
struct SshOptions {
  std::map<std::string, SshOption, std::less<>> first;                   ///< the value that won
  std::map<std::string, std::vector<SshOption>, std::less<>> collected;  ///< identityfile, …
  std::vector<SshDirective> needs_ssh_g;
  std::vector<SshDirective> needs_openssh;
  std::set<std::string, std::less<>> session;  ///< names of the SshUse::session directives

  /// Returns the first word of the value that won; empty when there is none.
  std::string_view word(std::string_view name) const;
};

/// `yes` when host_name and the paths are already resolved: `ssh -G` prints them so.
enum class SshResolved : uint8_t { no, yes };

/// Adds defaults and the request's own values, and replaces tokens. Fails where ssh would fail.
Result<SshSettings> make_ssh_settings(SshOptions options, const SshRequest& request,
                                      const SshWorld& world, SshResolved resolved);

}  // namespace dt
