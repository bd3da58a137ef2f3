#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/ssh/failure.h"
#include "launcher/ssh/keys/key_agent.h"
#include "launcher/ssh/libssh2.h"
#include "launcher/ssh/login.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The steps of a connected SSH client until its command runs. Knows what the server has sent so
/// far, so that the errors of these steps can show it. No I/O, no clock.
///
///     banner → key_exchange → host_key → login → channel → open
class SshOpening {
 public:
  struct Options {
    SshCredentials credentials;
    std::function<std::string()> command;          ///< called once, when it can be sent
    std::vector<std::string> host_key_types = {};  ///< of known keys
    KeyAgent* agent = nullptr;                     ///< null: there is none
    /// Called with the server's key, a blob of RFC 4253 6.6. An error ends the connection.
    std::function<Result<>(ByteSpan key)> check_host_key;
    /// Called from the Loop when a step that waited for `agent` can continue.
    std::function<void()> on_progress;
  };
  SshOpening(SshProtocol& protocol, Options options);

  /// Passes bytes from the server to the protocol.
  void receive(ByteSpan bytes);
  /// Advances by one step. `lost`: the connection has ended, for this reason or for none ("").
  Result<SshProtocol::Step> step(const std::optional<std::string>& lost);
  SshPhase phase() const { return phase_; }
  /// The key that the server accepted; empty before the login, and when the server wanted none.
  const std::string& key() const { return key_; }

 private:
  Result<SshProtocol::Step> try_step();
  Result<SshProtocol::Step> continue_handshake();
  Result<> check_host_key();
  Result<SshProtocol::Step> start_command();
  tl::unexpected<Error> no_ssh_server() const;
  tl::unexpected<Error> hung_up(const std::string& why) const;

  SshProtocol& protocol_;
  Options options_;
  SshPhase phase_ = SshPhase::banner;
  std::unique_ptr<SshLogin> login_;
  std::string key_;
  bool channel_open_ = false;
  std::string command_;
  std::string banner_;  ///< the server's first bytes, for messages
  size_t received_ = 0;
};

}  // namespace dt
