#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/io/frame.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/messages.h"
#include "launcher/sync/server/sync_events.h"
#include "launcher/sync/source/tree_reader.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// The tree that all hosts get. It outlives them.
struct SyncedTree {
  PlaceOrder place = {};  ///< without a marker
  std::string root = {};  ///< where it lies here
  Manifest manifest = {};
  Bytes encoded = {};                    ///< the manifest
  std::optional<SetUpOrder> setup = {};  ///< none: hosts are ready when they have the tree
};

/// One host, as the launcher's sync process sees it: the order of its messages.
///
///   placing ─▶ placed ─ look() ─▶ looking ─▶ looked ─┬ send_tree() ─▶ receiving ─▶ building ─▶
///   built
///                                                    └ adopt() ─────────────────▶ building ─▶
///                                                    built
///   built ─ set_up() ─▶ setting_up ─▶ ready;  ready ─ fetch() ─▶ fetching ─▶ ready
///   ready ─ close() ─▶ closing ─▶ closed
///   any of them ─ its failure, or the end of its process ─▶ failed
///
/// Without a setup, a host that has built its tree is ready.
class HostPeer {
 public:
  enum class State : uint8_t {
    placing,
    placed,
    looking,
    looked,
    receiving,
    building,
    built,
    setting_up,
    ready,
    fetching,
    closing,
    closed,
    failed,
  };
  struct Handlers {
    std::function<void()> on_step;  ///< called after each change of state
    std::function<void(std::string text)> on_note;
    std::function<void(const Seen& seen)> on_seen;  ///< called before the step to `looked`
    std::function<void(ByteSpan bytes)> on_output;  ///< of setup commands
    /// Takes a message about files that the host sends: file, file_bytes, file_end or fetched.
    std::function<Result<>(SyncMessage type, ByteSpan payload)> on_file;
    /// Called when no host can have the tree.
    std::function<void(const Error& why)> on_broken_tree;
  };
  /// How often a file is read that changes meanwhile.
  static constexpr int reads_max = 3;

  HostPeer(Loop& loop, HostOrder host, const SyncedTree& tree, Handlers handlers);
  HostPeer(const HostPeer&) = delete;
  HostPeer& operator=(const HostPeer&) = delete;

  /// Takes the connection to the host, and sends the first order.
  Result<> open(Fd connection);
  void look();
  void send_tree();
  void adopt();
  /// Sets the host up; without `runs`, for a host that shares the folder of another setup.
  void set_up(bool runs);
  /// Asks for files.
  void fetch(const std::vector<std::string>& patterns);
  void close();
  /// Stops reading from the host, and reads again.
  void pause();
  void resume();
  /// Fails if the host works, and nothing was heard of it for so long.
  void check_progress(Duration silence_max);
  /// Closes the connection, too.
  void fail(std::string why);

  State state() const { return state_; }
  /// True while the host has something to do.
  bool is_at_work() const;
  /// True while it gets the list of files, or files.
  bool is_receiving() const;
  const HostOrder& host() const { return host_; }
  const std::string& why() const { return why_; }
  const std::string& marker() const { return marker_; }
  const HostTree& tree() const { return host_tree_; }

 private:
  size_t receive(ByteSpan bytes);
  Result<> handle(const FrameView& frame);
  Result<> expect(State state) const;
  Result<> take_seen(ByteSpan payload);
  void enter(State state);
  void add(SyncMessage type, ByteSpan payload = {});
  void send(SyncMessage type, ByteSpan payload = {});
  void send_batch();
  void send_more();
  bool add_piece();
  void add_manifest_piece();
  Result<> add_file_piece();
  Result<> start_file();
  void end_file(bool as_listed);

  Loop& loop_;
  HostOrder host_;
  const SyncedTree& tree_;
  Handlers handlers_;
  std::unique_ptr<Stream> stream_;
  Bytes batch_;  ///< frames that are not written yet
  State state_ = State::placing;
  std::string why_;
  std::string marker_;
  HostTree host_tree_;
  size_t manifest_sent_ = 0;
  bool knows_manifest_ = false;
  std::deque<uint32_t> wanted_;  ///< entries that are still to be sent
  bool wants_all_ = false;       ///< the list of wanted entries is whole
  std::optional<TreeReader> reader_;
  bool is_sending_ = false;  ///< a file is on its way
  int reads_ = 0;            ///< of this file
  bool is_paused_ = false;
  Time heard_;
  Timer closing_;
};

}  // namespace dt
