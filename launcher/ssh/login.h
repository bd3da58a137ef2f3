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

/// Who logs in where, with what.
struct SshCredentials {
  std::string host;  ///< as the user named it, for messages
  std::string user;
  /// Key files in the order of trial, as load_identity gave them.
  std::vector<std::shared_ptr<const SshIdentity>> identities = {};
  bool identities_only = false;  ///< of the agent's keys only those that are in `identities`
};

/// Why no key opened the door, and what to do; `tried` as "ed25519 from ssh-agent", `problems` of
/// keys that could not be tried.
std::string login_refused_text(const std::string& host, const std::vector<std::string>& tried,
                               const std::vector<std::string>& problems);

/// Logs in: with the keys of ssh-agent (those that are also files first), then with key files, at
/// last with nothing, which also tells what the server would take. Never with a password. What was
/// tried and what could not be goes into the error.
class SshLogin {
 public:
  /// `agent` may be null. `on_news` tells that a step that waited for the agent can go on; from the
  /// Loop, and not to destroy us.
  SshLogin(SshProtocol& protocol, SshCredentials credentials, KeyAgent* agent,
           std::function<void()> on_news);
  SshLogin(const SshLogin&) = delete;
  SshLogin& operator=(const SshLogin&) = delete;

  /// Errors: `refused`, or `unsupported` when a key was left out that the OpenSSH client can use.
  Result<SshProtocol::Step> step();
  /// After the last step: the key that was taken, "ed25519 from ssh-agent"; empty: none was asked.
  std::string key() const { return candidates_.empty() ? "" : candidates_.front().label; }

 private:
  struct Candidate {
    std::string label;  ///< "ed25519 from ssh-agent"
    Bytes agent_key = {};
    std::shared_ptr<const SshIdentity> identity = {};  ///< empty: the agent signs
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
  std::function<void()> on_news_;
  enum class Listing { not_yet, asked, known } listing_ = Listing::not_yet;
  std::deque<Candidate> candidates_;
  std::vector<std::string> tried_;
  std::vector<std::string> beyond_us_;  ///< keys that only the OpenSSH client can use
  std::vector<std::string> problems_;
  bool signing_ = false;
  std::optional<Result<Bytes>> signature_;
  /// Answers of the agent that come after our end find nobody.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace dt
