#pragma once

#include "base/crypto.h"
#include "base/format.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/server/host_peer.h"
#include "launcher/sync/server/sync_events.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/sim/random.h"
#include "tests/sim/sync/sync_plan.h"
#include "tests/unit/temporary_folder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// A folder of trees, which hosts may share.
struct SimulatedTree {
  std::set<std::string> markers;
  bool is_whole = false;
};

/// A folder of objects and setups, which hosts may share.
struct SimulatedStore {
  std::set<std::string> markers;
  std::set<Digest> objects;
  /// How often each content has come for a tree, by the number of its folder.
  std::map<std::pair<size_t, Digest>, size_t> received;
  std::map<Digest, size_t> lost;  ///< how often each content was lost again
  bool is_set_up = false;
};

/// The files of which all trees of a simulation have some.
class SimulatedFiles {
 public:
  static constexpr size_t large_bytes = 600'000;

  SimulatedFiles() {
    add("dir/large", std::string(large_bytes, 'x'));
    add("dir/middle", std::string(30'000, 'y'));
    add("empty", "");
    for (const char* const name : {"f1", "f2", "f3", "f4", "f5", "f6"})
      add(name, format("the content of {}", name));
    add("same", "the content of f1");
    entries_.push_back({.path = "to", .kind = TreeEntry::Kind::link, .target = "same"});
  }

  /// Returns a tree that has each of the files by this chance.
  SyncedTree choose(Random& random, size_t percent, size_t percent_large) const {
    SyncedTree tree = {.root = folder_.path()};
    tree.place.job = "job";
    for (const TreeEntry& entry : entries_)
      if (random.percent(entry.size == large_bytes ? percent_large : percent))
        tree.manifest.entries.push_back(entry);
    tree.encoded = encode(tree.manifest);
    return tree;
  }

 private:
  void add(const std::string& path, const std::string& text) {
    folder_.write(path, text);
    entries_.push_back({.path = path, .size = text.size(), .digest = sha256(as_bytes(text))});
  }

  TemporaryFolder folder_;
  std::vector<TreeEntry> entries_;
};

/// The files and folders that hosts share, and the events of the server.
struct SyncScene {
  SyncScene(uint64_t seed, SyncedTree given) : random(seed), tree(std::move(given)) {}

  void complain(uint32_t host, const std::string& what) {
    if (complaint.empty()) complaint = format("host {}: {}", host, what);
  }

  VirtualTime time;
  Random random;
  SyncedTree tree;
  std::vector<SimulatedTree> trees;
  std::vector<SimulatedStore> stores;
  std::map<uint32_t, HostTree> ready;        ///< as the server has reported it, by host
  std::map<uint32_t, std::string> failures;  ///< the same: why a host has no tree
  std::string complaint;                     ///< the first broken promise
};

}  // namespace dt
