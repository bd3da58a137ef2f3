#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/connect/agent_connection.h"
#include "launcher/ssh/keys/keyring.h"
#include "launcher/ssh/resolver.h"
#include "launcher/ssh/session.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// One try to connect to a host by libssh2 in this process: name look-up, dial, login, command.
class SshConnection final : public AgentConnection {
 public:
  /// The parts that several connections share; they outlive the connections.
  struct Shared {
    Loop& loop;
    Resolver& resolver;
    SshKeyring& keyring;
    Log& log;
  };
  struct Target {
    SshRequest request;
    SshSettings settings;
    std::function<std::string()> command;
    Time open_by;
    Duration patience;  ///< for messages: how long all tries together may take
    Duration dead_after;
  };
  SshConnection(Shared shared, Target target, Handlers handlers);

  void write(ByteSpan bytes) override;
  size_t unsent() const override { return session_ ? session_->unsent() : 0; }
  void close_after_sending() override;
  void hang_up() override;
  std::string login() const override { return session_ ? session_->key() : ""; }
  bool ended() const override { return ended_; }
  CloseReason so_far() override;

 private:
  void dial(Result<std::vector<Address>> addresses);
  const std::string& command();
  Result<> check_host_key(ByteSpan blob) const;
  void record(const HostKey& key) const;
  void ended(const SshSession::End& end);
  CloseReason end_of(const SshSession::End& end) const;

  Shared shared_;
  Target target_;
  Handlers handlers_;
  KnownHost known_;
  std::string command_;
  Timer preparing_;
  bool ended_ = false;
  std::unique_ptr<SshSession> session_;
  /// The resolver's callback holds it weakly: an answer after our destruction is dropped.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace dt
