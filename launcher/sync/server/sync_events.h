#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// An order from the launcher to its sync process, as a packet. `host` has a connection.
enum class SyncOrder : uint8_t {
  host = 1,   ///< HostOrder: one more host. Nothing waits for it until `start`.
  start = 2,  ///< Hosts that were named get their trees.
  /// Hosts close their trees. Before it, files are fetched from the host with this id (u32). 0:
  /// rank 0 uses the original; no_host: none are fetched.
  finish = 3,
};

/// The id of no host.
inline constexpr uint32_t no_host = std::numeric_limits<uint32_t>::max();

/// One more host for the tree.
struct HostOrder {
  uint32_t id = 0;        ///< of this host in events
  std::string name;       ///< for people
  bool here = false;      ///< it is the launcher's machine
  bool original = false;  ///< tasks use the tree itself: no copy is made
  bool operator==(const HostOrder&) const = default;
};

/// An event of the sync process, for the launcher, as a frame. The stream of a frame is the id of
/// its host.
enum class SyncEvent : uint8_t {
  listed = 1,       ///< TreeFacts: the tree is known, and hosts may be named
  failed = 2,       ///< text: no host can have the tree
  warning = 3,      ///< text
  note = 4,         ///< text
  ready = 5,        ///< HostTree: a host has the tree
  host_failed = 6,  ///< text: why a host cannot have it
  finished = 7,     ///< all trees are closed
  output = 8,       ///< bytes that setup commands have printed on a host
};

/// The tree that goes to the hosts.
struct TreeFacts {
  std::string root;    ///< on the launcher's machine; of a URL: the URL without user and REF
  std::string place;   ///< of the current folder below the root; empty: the root
  std::string commit;  ///< of its git repository; empty: none
  bool dirty = false;  ///< it differs from the commit
  uint64_t files = 0;
  uint64_t bytes = 0;
  bool operator==(const TreeFacts&) const = default;
};

/// The tree on a host.
struct HostTree {
  std::string folder;
  uint64_t files_sent = 0;  ///< to this host
  uint64_t bytes_sent = 0;
  std::string setup_folder = {};  ///< DTRAIN_SETUP_DIR; empty: no setup
  bool has_bin = false;           ///< it has a folder bin, which comes first in PATH
  /// Returns a PATH with the programs of the setup, if it has some, before the others.
  std::string with_setup(const std::string& path) const {
    return has_bin ? setup_folder + "/bin:" + path : path;
  }
  bool operator==(const HostTree&) const = default;
};

Bytes encode(const HostOrder& order);
Bytes encode(const TreeFacts& facts);
Bytes encode(const HostTree& tree);
/// Reads a payload back. Fails with Errc::protocol for bytes that are none.
Result<HostOrder> decode_host_order(ByteSpan payload);
Result<TreeFacts> decode_tree_facts(ByteSpan payload);
Result<HostTree> decode_host_tree(ByteSpan payload);

}  // namespace dt
