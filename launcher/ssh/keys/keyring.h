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

/// What the user can log in with, and what the user's files know of hosts. Each file is read once
/// and each ssh-agent has one connection, whatever the number of hosts.
class SshKeyring {
 public:
  using Identities = std::vector<std::shared_ptr<const SshIdentity>>;

  SshKeyring(Loop& loop, const SshWorld& world) : loop_(loop), world_(world) {}
  SshKeyring(const SshKeyring&) = delete;
  SshKeyring& operator=(const SshKeyring&) = delete;

  /// Those of the settings' key files that are there.
  Identities identities(const SshSettings& settings);
  /// Null: there is none, or nobody listens there.
  KeyAgent* agent(const SshSettings& settings);
  KnownHost known_host(const SshSettings& settings);
  /// Why only the OpenSSH client could log in: there is neither a key nor an agent, but a Kerberos
  /// ticket, and GSSAPI is allowed. Empty otherwise.
  std::string needs_openssh(const SshSettings& settings);
  /// Whether the OpenSSH client could log in with a Kerberos ticket where keys were refused.
  bool has_ticket(const SshSettings& settings) const;

 private:
  Loop& loop_;
  const SshWorld& world_;
  std::map<std::string, std::shared_ptr<const SshIdentity>> identities_;
  std::map<std::string, std::unique_ptr<KeyAgent>> agents_;
  std::map<std::vector<std::string>, std::unique_ptr<KnownHosts>> known_hosts_;
};

}  // namespace dt
