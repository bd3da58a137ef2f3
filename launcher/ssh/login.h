#pragma once

#include "launcher/ssh/keys/identity.h"
#include "launcher/ssh/keys/key_agent.h"
#include "launcher/ssh/libssh2.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The user, the host and the keys of a login.
struct SshCredentials {
  std::string copy_id;  ///< the arguments of ssh-copy-id for this login, for messages
  std::string user;
  /// Key files in the order of trial, as load_identity gave them.
  std::vector<std::shared_ptr<const SshIdentity>> identities = {};
  bool identities_only = false;  ///< use only those keys of ssh-agent that are in `identities`
};

/// Returns the message for a refused login, with a remedy: ssh-copy-id with the arguments
/// `copy_id`. `tried` are keys ("ed25519 from ssh-agent"); `problems` are why further keys could
/// not be.
std::string login_refused_text(const std::string& copy_id, const std::vector<std::string>& tried,
                               const std::vector<std::string>& problems);

/// Logs in with the keys of ssh-agent, those that are also files first, then with key files, and at
/// last with no key, never with a password. The last try also returns the methods that the server
/// accepts. The error lists the keys that were tried, and those that could not be.
class SshLogin {
 public:
  /// `agent` may be null. `on_progress` is called from the Loop when a step that waited for
  /// ssh-agent can continue. It must not destroy this object.
  SshLogin(SshProtocol& protocol, SshCredentials credentials, KeyAgent* agent,
           std::function<void()> on_progress);
  SshLogin(const SshLogin&) = delete;
  SshLogin& operator=(const SshLogin&) = delete;

  /// Fails with `refused`, or with `unsupported` when only the OpenSSH client can use some key.
  Result<SshProtocol::Step> step();
  /// After the last step: the accepted key, "ed25519 from ssh-agent"; empty: the server wanted
  /// none.
  std::string key() const { return candidates_.empty() ? "" : candidates_.front().label; }

 private:
  struct Candidate {
    std::string label;  ///< "ed25519 from ssh-agent"
    Bytes agent_key = {};
    std::shared_ptr<const SshIdentity> identity = {};  ///< null: ssh-agent signs
  };
  void choose(std::vector<Bytes> agent_keys);
  void add_agent_key(Bytes key);
  bool usable(std::string_view type, const std::string& label);
  Result<SshProtocol::Step> attempt(const Candidate& candidate);
  Result<std::optional<Bytes>> sign(const Candidate& candidate, ByteSpan data, uint32_t flags);
  Error refusal(const Error& last) const;

  SshProtocol& protocol_;
  SshCredentials credentials_;
  KeyAgent* agent_;
  std::function<void()> on_progress_;
  enum class Listing { not_yet, requested, known } listing_ = Listing::not_yet;
  std::deque<Candidate> candidates_;
  std::vector<std::string> tried_;
  std::vector<std::string> openssh_only_;  ///< keys that only the OpenSSH client can use
  std::vector<std::string> problems_;
  bool signing_ = false;
  std::optional<Result<Bytes>> signature_;
  /// Expires with this object: replies of ssh-agent that come later are dropped.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace dt
