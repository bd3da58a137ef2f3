#include "launcher/ssh/keys/keyring.h"

#include "base/format.h"

#include <unistd.h>

namespace dt {

namespace {

/// Returns the socket of the user's agent; empty when none is wanted, or none is named.
std::string agent_socket(const SshSettings& settings, const SshWorld& world) {
  const std::string named = settings.identity_agent.value_or("SSH_AUTH_SOCK");
  if (named == "none") return {};
  return named == "SSH_AUTH_SOCK" ? world.environment(named).value_or("") : named;
}

/// Checks a cache in a file. Assumes that others (KEYRING:, KCM:) exist: only Kerberos can read
/// them.
bool ticket_cache_exists(const SshWorld& world) {
  std::string cache = world.environment("KRB5CCNAME").value_or(format("/tmp/krb5cc_{}", getuid()));
  if (cache.starts_with("FILE:")) cache.erase(0, 5);
  return !cache.starts_with('/') || access(cache.c_str(), R_OK) == 0;
}

}  // namespace

SshKeyring::Identities SshKeyring::identities(const SshSettings& settings) {
  Identities all;
  for (const std::string& path : settings.identity_files) {
    const auto [at, is_new] = identities_.try_emplace(path);
    if (is_new) {
      if (auto loaded = load_identity(path)) {
        at->second = std::make_shared<const SshIdentity>(*std::move(loaded));
      }
    }
    if (at->second) all.push_back(at->second);
  }
  return all;
}

KeyAgent* SshKeyring::agent(const SshSettings& settings) {
  const std::string socket = agent_socket(settings, world_);
  if (socket.empty()) return nullptr;
  const auto [at, is_new] = agents_.try_emplace(socket);
  if (is_new) {
    if (auto connected = KeyAgent::connect(loop_, socket)) at->second = *std::move(connected);
  }
  return at->second.get();
}

KnownHost SshKeyring::known_host(const SshSettings& settings) {
  std::vector<std::string> paths = settings.user_known_hosts_files;
  paths.insert(paths.end(), settings.global_known_hosts_files.begin(),
               settings.global_known_hosts_files.end());
  std::unique_ptr<KnownHosts>& known = known_hosts_[paths];
  if (!known) known = std::make_unique<KnownHosts>(read_known_hosts(settings, world_));
  return known->find({settings.host_name, settings.port, settings.host_key_alias});
}

std::string SshKeyring::needs_openssh(const SshSettings& settings) {
  const bool keyless = identities(settings).empty() && agent(settings) == nullptr;
  return keyless && has_ticket(settings) ? "no key, but a Kerberos ticket" : "";
}

bool SshKeyring::has_ticket(const SshSettings& settings) const {
  return settings.gssapi && ticket_cache_exists(world_);
}

}  // namespace dt
