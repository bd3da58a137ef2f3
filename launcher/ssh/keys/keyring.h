#pragma once

#include "base/io/loop.h"
#include "launcher/ssh/config/ssh_config.h"
#include "launcher/ssh/keys/identity.h"
#include "launcher/ssh/keys/key_agent.h"
#include "launcher/ssh/keys/known_hosts.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// The user's keys, ssh-agents and known_hosts files. It reads each file once and opens one
/// connection to each ssh-agent, whatever the number of hosts.
class SshKeyring {
 public:
  using Identities = std::vector<std::shared_ptr<const SshIdentity>>;

  SshKeyring(Loop& loop, const SshWorld& world) : loop_(loop), world_(world) {}
  SshKeyring(const SshKeyring&) = delete;
  SshKeyring& operator=(const SshKeyring&) = delete;

  /// Returns the key files of the settings that exist.
  Identities identities(const SshSettings& settings);
  /// Returns the ssh-agent of the settings; null when there is none, or it does not answer.
  KeyAgent* agent(const SshSettings& settings);
  KnownHost known_host(const SshSettings& settings);
  /// Returns a reason if only the OpenSSH client can log in, else an empty string. It can when
  /// GSSAPI is on and the user has a Kerberos ticket, but neither a key nor an agent.
  std::string needs_openssh(const SshSettings& settings);
  /// True when the OpenSSH client can try a Kerberos ticket after keys were refused.
  bool has_ticket(const SshSettings& settings) const;

 private:
  Loop& loop_;
  const SshWorld& world_;
  std::map<std::string, std::shared_ptr<const SshIdentity>> identities_;
  std::map<std::string, std::unique_ptr<KeyAgent>> agents_;
  std::map<std::vector<std::string>, std::unique_ptr<KnownHosts>> known_hosts_;
};

}  // namespace dt
