#pragma once

#include "base/bytes.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <string>
#include <vector>

namespace dt {

/// Where a task listens for its peers, as it publishes it at the rendezvous.
struct Contact {
  std::vector<Address> tcp;  ///< several when no one of them leads there from everywhere
  std::string local;         ///< name of its abstract Unix socket; empty: none
  bool operator==(const Contact&) const = default;

  Bytes encode() const;
  static Result<Contact> decode(ByteSpan bytes);
};

/// What every contact's key begins with.
inline constexpr std::string_view contact_key_prefix = "listen/";
/// "listen/worker/3".
std::string contact_key(const TaskId& task);

}  // namespace dt
