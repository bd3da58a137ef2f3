#pragma once

#include "base/bytes.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <string>
#include <vector>

namespace dt {

/// Where a task listens for its peers, as it publishes it at the rendezvous.
struct PeerEndpoint {
  std::vector<Address> tcp;  ///< several when no one of them leads there from everywhere
  std::string local;         ///< name of its abstract Unix socket; empty: none
  bool operator==(const PeerEndpoint&) const = default;

  Bytes encode() const;
  static Result<PeerEndpoint> decode(ByteSpan bytes);
};

/// What every contact's key begins with.
inline constexpr std::string_view endpoint_key_prefix = "listen/";
/// "listen/worker/3".
std::string endpoint_key(const TaskId& task);

}  // namespace dt
