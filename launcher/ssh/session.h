#pragma once

#include "base/bytes.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "launcher/ssh/command_input.h"
#include "launcher/ssh/dialer.h"
#include "launcher/ssh/failure.h"
#include "launcher/ssh/keys/key_agent.h"
#include "launcher/ssh/libssh2.h"
#include "launcher/ssh/login.h"
#include "launcher/ssh/opening.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One SSH connection in this process that runs one command. Its interface is much like a Stream's:
/// the command's standard input and output are the two directions.
///
/// Nothing about the user, not even the name, is sent before the host key is accepted. There is no
/// terminal, no forwarding, and no keepalive but TCP's: the protocol above has its own heartbeats.
/// "open" is the phase in which the command runs.
///
///     connecting → banner → key_exchange → host_key → login → channel → open → ended
///          └──────────┴──────────┴────────────┴─────────┴────────┴───────┴──────↗ failed
class SshSession {
 public:
  struct Target {
    Dialer::Target dial;
    SshCredentials credentials;
    std::function<std::string()> command;          ///< called once, when it can be sent
    std::vector<std::string> host_key_types = {};  ///< of known keys: preferred
  };
  struct Options {
    KeyAgent* agent = nullptr;  ///< must outlive this object; null: there is none
    Time open_by;               ///< the session fails unless the command runs by then
    Duration dead_after = seconds(5);
  };
  struct End {
    std::optional<SshFailure> failure;  ///< none: the command has ended
    SshExit exit = {};
    std::string errors = {};  ///< the last errors_bytes_max of the command's stderr
  };
  /// Called from the Loop only, never within a call of a member function. Each may destroy the
  /// session, except check_host_key.
  struct Handlers {
    /// Called with the server's key, a blob of RFC 4253 6.6. An error ends the session.
    std::function<Result<>(ByteSpan key)> check_host_key;
    /// Called when the command runs. May be empty.
    std::function<void()> on_open = {};
    /// As Stream's: returns how many bytes at the front of `received` it consumed.
    std::function<size_t(ByteSpan received)> on_bytes;
    /// Called once, at the end of the session.
    std::function<void(End end)> on_end;
    /// Called when all bytes written since the last call are sent. May be empty.
    std::function<void()> on_drained = {};
    /// Called when the command wrote to stderr, with the end of all its stderr. May be empty.
    std::function<void(std::string_view errors)> on_errors = {};
  };
  static constexpr size_t errors_bytes_max = size_t{64} << 10;

  SshSession(Loop& loop, Target target, Options options, Handlers handlers);
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  /// Queues bytes for the command's standard input, even before the command runs.
  void write(ByteSpan bytes);
  /// Returns the queued bytes that the kernel has not yet taken; callers use it to limit the queue.
  size_t unsent() const;
  /// Stops and restarts reading the command's output; the server then stops sending. The session
  /// keeps the bytes that come before that, 2 MiB at most.
  void pause();
  void resume();
  /// Ends the command's standard input once all queued bytes are sent.
  void close_after_sending();
  SshPhase phase() const { return phase_; }
  /// The key that the server accepted, "ed25519 from ssh-agent"; empty before the login, and when
  /// the server wanted none.
  const std::string& key() const { return key_; }

 private:
  void connected(Result<Fd> socket);
  Result<> begin(Fd socket);
  size_t receive(ByteSpan bytes);
  void lost(const std::optional<Error>& why);
  /// Calls advance() in the next round of the Loop: for progress that causes no socket event.
  void wake();
  void advance();
  void exchange();
  /// Returns false when a handler destroyed this object, or the session has ended.
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
  /// A running handler holds a second reference. If it is the only one left after the call, the
  /// handler destroyed this object.
  std::shared_ptr<Handlers> handlers_;
  SshPhase phase_ = SshPhase::connecting;
  bool ended_ = false;

  std::unique_ptr<Dialer> dialer_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SshProtocol> protocol_;
  std::unique_ptr<SshOpening> opening_;  ///< until the command runs
  std::string key_;
  bool opened_owed_ = false;             ///< on_open is still to be called
  std::optional<std::string> lost_why_;  ///< the connection ended; "": without an error

  Bytes in_;  ///< read, and not yet consumed by on_bytes
  SshCommandInput out_;
  std::string errors_;
  bool paused_ = false;
  bool drained_owed_ = false;
  Timer deadline_;
  Timer waking_;
};

}  // namespace dt
