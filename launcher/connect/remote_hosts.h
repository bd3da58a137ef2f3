#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/connect_limiter.h"
#include "launcher/connect/spawned_process.h"
#include "launcher/connect/ssh_connection.h"
#include "launcher/ssh/config/ssh_config.h"
#include "launcher/ssh/keys/keyring.h"
#include "launcher/ssh/login_options.h"
#include "launcher/ssh/resolver.h"

#include <functional>
#include <memory>
#include <string>

namespace dt {

/// The command that starts the agent on another host. Made when it can be sent, since it needs the
/// executable's digest.
struct RemoteCommand {
  std::function<std::string()> command;  ///< for a login shell of any kind
  std::function<std::string()> script;   ///< the same for the input of a /bin/sh
};

/// The parts that the connections to all other hosts of a job share. They are user and keys, the
/// resolver, and the limit of logins at once.
class RemoteHosts {
 public:
  struct Options {
    LoginOptions login;
    Duration dead_after = seconds(5);
    uint64_t noise = 0;  ///< varies, with the host, the pauses between tries
    /// Starts a process that connects to the host, instead of SSH (tests); may be empty.
    std::function<Result<SpawnedProcess>(const Host&)> other;
  };
  static Result<std::unique_ptr<RemoteHosts>> create(Loop& loop, Log& log, Options options);
  RemoteHosts(const RemoteHosts&) = delete;
  RemoteHosts& operator=(const RemoteHosts&) = delete;

  Loop& loop() { return loop_; }
  Log& log() { return log_; }
  const Options& options() const { return options_; }
  const LoginOptions& login() const { return options_.login; }
  ConnectLimiter& limiter() { return limiter_; }
  const SshWorld& world() const { return world_; }
  /// Returns the request for this host: the user's facts with the host's name and user.
  SshRequest request(const Host& host) const;
  SshRouteFacts route_facts(const SshSettings& settings);
  SshConnection::Shared shared() { return {loop_, *resolver_, keyring_, log_}; }

 private:
  RemoteHosts(Loop& loop, Log& log, Options options, std::unique_ptr<Resolver> resolver);
  void choose_program();
  void drop_missing_identity();

  Loop& loop_;
  Log& log_;
  Options options_;
  SshRequest user_;  ///< the user's facts, without a host
  SshWorld world_ = this_machine_for_ssh();
  SshKeyring keyring_;
  std::unique_ptr<Resolver> resolver_;
  ConnectLimiter limiter_;
};

}  // namespace dt
