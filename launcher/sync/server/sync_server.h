#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/sync/server/fetching.h"
#include "launcher/sync/server/host_peer.h"
#include "launcher/sync/server/shared_folders.h"
#include "launcher/sync/server/sync_events.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace dt {

/// Gives all hosts of a job its tree. Hosts that share a folder are found first: one of them gets
/// the tree, and the others adopt it. Hosts may be added at any time.
class SyncServer {
 public:
  /// Sends an event to the launcher; `host` is 0 for one of no host.
  using Send = std::function<void(SyncEvent event, uint32_t host, ByteSpan payload)>;
  struct Options {
    Duration silence_max = seconds(30);  ///< of a host that works
    /// As many hosts get files, or the list of files, at once. It bounds the memory here, and they
    /// share one network.
    size_t receivers_max = 64;
  };
  /// `tree` outlives it.
  SyncServer(Loop& loop, const SyncedTree& tree, Options options, Send send);
  SyncServer(const SyncServer&) = delete;
  SyncServer& operator=(const SyncServer&) = delete;

  /// Adds a host, whose id is new.
  void add(HostOrder host, Fd connection);
  /// The hosts that were added get their trees. Hosts that are added later wait for another start.
  void start();
  /// The host with this id sends the files that `fetching` wants, which outlives the server; 0: the
  /// original has them; null: none are wanted. Then all hosts close their trees.
  void finish(Fetching* fetching, uint32_t host);
  /// Stops reading from the hosts while the launcher reads too slowly, and reads again.
  void pause();
  void resume();

 private:
  struct Site {
    std::unique_ptr<HostPeer> peer;
    bool started = false;
    bool reported = false;  ///< the launcher knows the tree, or why there is none
  };
  void step();
  void step_soon();
  void look();
  void send_trees();
  void set_up();
  std::map<uint32_t, const HostPeer*> find_builders() const;
  std::map<uint32_t, bool> find_setups() const;
  void report();
  void fetch();
  bool is_fetching() const;
  void warn_of_lost_fetch();
  void end_fetch();
  void close_trees();
  void check_progress();

  Loop& loop_;
  const SyncedTree& tree_;
  Options options_;
  Send send_;
  std::vector<Site> sites_;  ///< in the order of their ids
  SharedFolders trees_;      ///< the folders of the hosts' trees
  SharedFolders stores_;     ///< those of their objects and setups
  bool broken_ = false;      ///< no host can have the tree
  bool finishing_ = false;
  Fetching* fetching_ = nullptr;  ///< null: no files are wanted, or all have come
  uint32_t fetched_host_ = 0;
  bool finished_ = false;
  Timer stepping_;
  Timer checking_;
};

}  // namespace dt
