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

/// What a host that is reached is asked to run; made when it can be sent.
struct RemoteCommand {
  std::function<std::string()> words;   ///< for a login shell of any kind
  std::function<std::string()> script;  ///< the same for a /bin/sh, which reads it from its input
};

/// What the ways to all other hosts of a job share: who logs in and with what, the resolver, and
/// how many are logged in to at once.
class RemoteHosts {
 public:
  struct Options {
    LoginOptions login;
    Duration dead_after = seconds(5);
    uint64_t noise = 0;  ///< pauses between tries depend on it and on the host
    /// Instead of everything that leads to a host; may be empty.
    std::function<Result<SpawnedProcess>(const Host&)> other;
  };
  static Result<std::unique_ptr<RemoteHosts>> create(Loop& loop, Log& log, Options options);
  RemoteHosts(const RemoteHosts&) = delete;
  RemoteHosts& operator=(const RemoteHosts&) = delete;

  Loop& loop() { return loop_; }
  Log& log() { return log_; }
  const Options& options() const { return options_; }
  const LoginOptions& login() const { return options_.login; }
  ConnectLimiter& turns() { return turns_; }
  const SshWorld& world() const { return world_; }
  /// As the command line asks for this host.
  SshRequest request(const Host& host) const;
  SshRouteFacts route_facts(const SshSettings& settings);
  SshConnection::Shared shared() { return {loop_, *resolver_, keyring_, log_}; }

 private:
  RemoteHosts(Loop& loop, Log& log, Options options, std::unique_ptr<Resolver> resolver);

  Loop& loop_;
  Log& log_;
  Options options_;
  SshRequest user_;  ///< who asks, without a host
  SshWorld world_ = this_machine_for_ssh();
  SshKeyring keyring_;
  std::unique_ptr<Resolver> resolver_;
  ConnectLimiter turns_;
};

}  // namespace dt
