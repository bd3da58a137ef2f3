#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_connection.h"
#include "launcher/connect/connect_limiter.h"
#include "launcher/connect/process_connection.h"
#include "launcher/connect/program_output.h"
#include "launcher/connect/remote_hosts.h"
#include "launcher/ssh/config/route.h"
#include "launcher/ssh/openssh.h"

#include <memory>
#include <optional>

namespace dt {

/// The way to another host: finds out how it is to be reached, and tries until it has an agent, a
/// reason why not, or no more time.
///
///   waiting for its turn ─▶ reading the configuration ─▶ trying ─── arrived() ───▶ carrying
///            ▲                                           │    ▲
///            └──────── pause ◀── refused, reset ─────────┤    │
///                                                        └────┘ libssh2 cannot: the OpenSSH client
class RemoteConnection final : public AgentConnection {
 public:
  /// `all` outlives it.
  RemoteConnection(RemoteHosts& all, Host host, RemoteCommand command, Handlers handlers);

  void write(ByteSpan bytes) override;
  size_t unsent() const override { return connection_ ? connection_->unsent() : 0; }
  void arrived() override;
  void close_after_sending() override;
  void hang_up() override;
  std::string login() const override;
  bool over() const override { return over_ && (!connection_ || connection_->over()); }
  bool owns(pid_t pid) const override { return connection_ && connection_->owns(pid); }
  End so_far() override;
  void kill() override;

 private:
  void ask_for_turn();
  void begin();
  void set_deadline();
  void find_route();
  void take_settings(const Result<SshSettings>& settings);
  void take_route(SshRoute route);
  void try_it();
  Result<std::unique_ptr<AgentConnection>> open_session();
  Result<std::unique_ptr<AgentConnection>> open_client();
  Result<SpawnedProcess> start_carrier() const;
  ClientContext client_context();
  void try_ended(End how);
  Duration pause_before_next() const;
  void no_answer();
  void clear();
  void end(End how);
  Duration patience() const;
  Handlers handlers_of_try();

  RemoteHosts& all_;
  Host host_;
  RemoteCommand command_;
  SshRequest request_;
  Handlers handlers_;
  SshSettings settings_;
  std::optional<SshRoute> route_;
  std::unique_ptr<ProgramOutput> asking_;  ///< ssh -G
  std::unique_ptr<ConnectLimiter::Permit> turn_;
  std::unique_ptr<AgentConnection> connection_;
  std::optional<Time> began_;
  Time deadline_ = Time::max();  ///< for all tries
  Timer give_up_;
  Timer again_;
  int attempt_ = 0;
  bool arrived_ = false;
  bool over_ = false;
};

}  // namespace dt
