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

/// The connection to an agent on another host. It reads the SSH configuration, chooses a route, and
/// tries until the agent answers, the failure is final, or the time to connect is over.
///
///   waiting for a permit ─▶ reading the configuration ─▶ trying ─── arrived() ───▶ connected
///            ▲                                           │    ▲
///            └──────── pause ◀── refused, reset ─────────┤    │
///                                                        └────┘ libssh2 cannot: the OpenSSH client
///
/// The permit is held from the first try to arrived(), and released during pauses.
class RemoteConnection final : public AgentConnection {
 public:
  /// `all` outlives the connection.
  RemoteConnection(RemoteHosts& all, Host host, RemoteCommand command, Handlers handlers);

  void write(ByteSpan bytes) override;
  size_t unsent() const override { return connection_ ? connection_->unsent() : 0; }
  void arrived() override;
  void close_after_sending() override;
  void hang_up() override;
  std::string login() const override;
  bool ended() const override { return ended_ && (!connection_ || connection_->ended()); }
  bool owns(pid_t pid) const override { return connection_ && connection_->owns(pid); }
  CloseReason so_far() override;
  void kill() override;

 private:
  void acquire_permit();
  void begin();
  void set_deadline();
  void find_route();
  void take_settings(const Result<SshSettings>& settings);
  void take_route(SshRoute route);
  void start_try();
  Result<std::unique_ptr<AgentConnection>> open_session();
  Result<std::unique_ptr<AgentConnection>> open_client();
  Result<SpawnedProcess> spawn_process() const;
  ClientContext client_context();
  void try_ended(CloseReason reason);
  bool is_patience_given() const;
  Time last_try() const;
  Duration pause_before_next() const;
  void no_answer();
  void clear();
  void end(CloseReason reason);
  Duration patience() const;
  Handlers handlers_of_try();

  RemoteHosts& all_;
  Host host_;
  RemoteCommand command_;
  SshRequest request_;
  Handlers handlers_;
  SshSettings settings_;
  std::optional<SshRoute> route_;
  std::unique_ptr<ProgramOutput> config_query_;  ///< ssh -G
  std::unique_ptr<ConnectLimiter::Permit> permit_;
  std::unique_ptr<AgentConnection> connection_;
  std::optional<Time> began_;
  Time deadline_ = Time::max();  ///< of all tries together
  Timer timeout_;
  Timer retry_timer_;
  int attempt_ = 0;
  bool only_refused_ = true;  ///< no process listened at the port in any try
  bool arrived_ = false;
  bool ended_ = false;
};

}  // namespace dt
