#pragma once

#include "base/bytes.h"
#include "base/io/socket.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The kinds of links between two tasks.
enum class Transport : uint8_t {
  automatic,  ///< shared memory on one host, TCP between hosts
  shm,
  tcp,
};
/// "auto", "shm" or "tcp".
std::string_view transport_name(Transport transport);
/// Returns none for another name. An empty one is "auto".
std::optional<Transport> transport_named(std::string_view name);

/// The addresses at which a task listens for its peers. It publishes them at the rendezvous.
struct PeerEndpoint {
  std::vector<Address> tcp;  ///< several when no single one is reachable from everywhere
  std::string local;         ///< name of the abstract Unix socket; empty: none
  Transport transport = Transport::automatic;
  bool operator==(const PeerEndpoint&) const = default;

  Bytes encode() const;
  static Result<PeerEndpoint> decode(ByteSpan bytes);
};

/// The prefix of every endpoint's key.
inline constexpr std::string_view endpoint_key_prefix = "listen/";
/// Returns "listen/worker/3".
std::string endpoint_key(const TaskId& task);

}  // namespace dt
