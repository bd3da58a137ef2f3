#pragma once

#include "base/bytes.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "launcher/ssh/dialer.h"
#include "launcher/ssh/failure.h"
#include "launcher/ssh/keys/key_agent.h"
#include "launcher/ssh/libssh2.h"
#include "launcher/ssh/login.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One SSH connection in this process that runs one command, whose standard input and output are
/// the two directions; seen from outside much like a Stream.
///
///     connecting → banner → key_exchange → host_key → login → channel → open → over
///          └──────────┴──────────┴────────────┴─────────┴────────┴───────┴──────↗ failed
///
/// Nothing of the user's, not even the user's name, is sent before the host key was found good.
/// There is no terminal, no forwarding, and no keepalive but TCP's: whoever talks through it has
/// heartbeats.
class SshSession {
 public:
  struct Target {
    Dialer::Target dial;
    SshCredentials credentials;
    std::function<std::string()> command;          ///< asked once it can be sent
    std::vector<std::string> host_key_types = {};  ///< known ones, to be asked for first
  };
  struct Options {
    KeyAgent* agent = nullptr;  ///< outlives us; null: there is none
    Time open_by;               ///< the command runs by then, or the session fails
    Duration dead_after = seconds(5);
  };
  struct End {
    std::optional<SshFailure> failure;  ///< none: the command has ended
    SshExit exit = {};
    std::string errors = {};  ///< the end of what the command wrote on stderr, errors_bytes_max
  };
  /// Called from the Loop only, never within a call of ours. Each may destroy the session, but for
  /// check_host_key.
  struct Handlers {
    /// Judges the server's key, a blob of RFC 4253 6.6. An error ends the session.
    std::function<Result<>(ByteSpan key)> check_host_key;
    /// The command runs. May be empty.
    std::function<void()> on_open = {};
    /// As Stream's: returns how many bytes at the front of `received` are used up.
    std::function<size_t(ByteSpan received)> on_bytes;
    /// Called once.
    std::function<void(End end)> on_end;
    /// All that was written since the last call has left. May be empty.
    std::function<void()> on_drained = {};
    /// The command wrote on stderr: the end of all that it wrote. May be empty.
    std::function<void(std::string_view errors)> on_errors = {};
  };
  static constexpr size_t errors_bytes_max = size_t{64} << 10;

  SshSession(Loop& loop, Target target, Options options, Handlers handlers);
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  /// Queues bytes for the command's standard input, also before it runs.
  void write(ByteSpan bytes);
  /// Bytes queued and not yet taken by the kernel; callers that produce without limit watch it.
  size_t unsent() const;
  /// Stops and restarts taking the command's output: the server then holds it back. What it may
  /// send before it notices, 2 MiB at most, is kept.
  void pause();
  void resume();
  /// The command sees the end of its input once all is sent.
  void close_after_sending();
  SshPhase phase() const { return phase_; }
  /// That the server has taken, in words; empty before the login, and when it asked for none.
  const std::string& key() const { return key_; }

 private:
  void connected(Result<Fd> socket);
  Result<> begin(Fd socket);
  size_t receive(ByteSpan bytes);
  void lost(const std::optional<Error>& why);
  /// advance(), soon: from calls of ours, and for what brings no event of the connection.
  void wake();
  void advance();
  Result<SshProtocol::Step> step();
  Result<SshProtocol::Step> shake_hands();
  Result<> check_host_key();
  Result<SshProtocol::Step> start_command();
  Error greeting_failure() const;
  Error hung_up() const;
  void exchange();
  /// False when a handler has destroyed us, or the session has ended.
  bool read_output();
  bool read_errors();
  void send_or_wake();
  Result<> send_some();
  void drained();
  void fail(Error error);
  void finish(End end);

  Loop& loop_;
  Target target_;
  Options options_;
  /// Shared with the one handler that runs: when nobody else owns it then, it has destroyed us.
  std::shared_ptr<Handlers> handlers_;
  SshPhase phase_ = SshPhase::connecting;
  bool over_ = false;

  std::unique_ptr<Dialer> dialer_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SshProtocol> protocol_;
  std::unique_ptr<SshLogin> login_;
  std::string key_;
  bool channel_open_ = false;
  std::string command_;
  bool opened_owed_ = false;  ///< on_open is still to be called
  std::string greeting_;      ///< the first bytes of the server, for messages
  size_t received_before_open_ = 0;
  std::optional<std::string> gone_;  ///< the connection has ended, and why; "" where it just did

  Bytes in_;   ///< read and not yet used up by on_bytes
  Bytes out_;  ///< not yet taken by the protocol, from sent_ on
  size_t sent_ = 0;
  std::string errors_;
  bool paused_ = false;
  bool closing_ = false;
  bool input_ended_ = false;
  bool drained_owed_ = false;
  Timer deadline_;
  Timer waking_;
};

}  // namespace dt
