#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/ssh/libssh2.h"

#include <functional>

namespace dt {

/// The standard input of a command over SSH: the queue of its bytes, and its end after them.
class SshCommandInput {
 public:
  void write(ByteSpan bytes) { queue_.insert(queue_.end(), bytes.begin(), bytes.end()); }
  /// Ends the input after the queued bytes.
  void close() { closing_ = true; }
  bool closing() const { return closing_; }
  /// Returns the number of queued bytes.
  size_t size() const { return queue_.size() - sent_; }
  /// Passes bytes to the protocol while `has_room` returns true and the server's window is open.
  Result<> send(SshProtocol& protocol, const std::function<bool()>& has_room);

 private:
  Bytes queue_;  ///< from sent_ on not yet taken by the protocol
  size_t sent_ = 0;
  bool closing_ = false;
  bool ended_ = false;
};

}  // namespace dt
