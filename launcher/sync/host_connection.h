#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/network/relay.h"
#include "launcher/protocol/message.h"
#include "launcher/sync/forked_service.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace dt {

/// The stream of the connection between the launcher and a host's sync process. It is relayed as
/// those of tasks are, whose numbers are never 0.
inline constexpr uint32_t sync_stream = 0;

/// True for messages of that connection.
bool is_of_sync(const FrameHeader& header);

/// The agent's end of that connection: it starts the sync process when the launcher opens the
/// connection, and forwards bytes. The process writes files and runs setup commands, which may
/// block for long. It lives until the launcher closes the connection, or this object ends.
class HostConnection {
 public:
  /// Runs in the sync process.
  using Serve = std::function<void(Fd connection)>;
  HostConnection(Loop& loop, Relay::Send send, Serve serve)
      : relay_(std::in_place, loop, std::move(send)), serve_(std::move(serve)) {}
  HostConnection(const HostConnection&) = delete;
  HostConnection& operator=(const HostConnection&) = delete;
  /// Closes the connection, and waits until the sync process has ended setup commands and left its
  /// places; for end_patience at most.
  ~HostConnection();

  /// Handles a message that is_of_sync(). Fails with Errc::protocol when the launcher breaks the
  /// protocol, and as fork(2).
  Result<> receive(MessageType type, ByteSpan payload);
  /// True for the sync process; only this object reaps it.
  bool owns(pid_t pid) const { return process_ && process_->pid() == pid; }
  /// Returns the sync process, if there is one. The end of the tasks spares it.
  std::vector<pid_t> processes() const;

 private:
  Result<> open();

  static constexpr Duration end_patience = seconds(5);
  std::optional<Relay> relay_;
  Serve serve_;
  std::optional<ForkedService> process_;
};

}  // namespace dt
