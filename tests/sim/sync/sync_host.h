#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/frame.h"
#include "base/io/loop.h"
#include "launcher/sync/messages.h"
#include "tests/sim/sync/sync_plan.h"
#include "tests/sim/sync/sync_scene.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// A host of a simulation: its sync process, as far as the launcher sees it. It checks all messages
/// that it gets.
class SimulatedSyncHost {
 public:
  /// Returns another host that breaks a promise of the server if this one begins now.
  using Rival = std::function<const SimulatedSyncHost*(const SimulatedSyncHost& self)>;

  SimulatedSyncHost(SyncScene& scene, Loop& loop, const SyncHostPlan& plan)
      : scene_(scene), loop_(loop), plan_(plan) {}
  SimulatedSyncHost(const SimulatedSyncHost&) = delete;
  SimulatedSyncHost& operator=(const SimulatedSyncHost&) = delete;

  void connect(Fd connection) {
    connection_ = std::move(connection);
    watch_ = loop_.watch(connection_.get(), EPOLLIN, [this](uint32_t) { read_later(); }).value();
    if (plan_.fate.at) striking_ = loop_.after(*plan_.fate.at, [this] { strike(); });
  }
  void set_rivals(Rival of_tree, Rival of_setup) {
    rival_of_tree_ = std::move(of_tree);
    rival_of_setup_ = std::move(of_setup);
  }

  const SyncHostPlan& plan() const { return plan_; }
  /// It has failed.
  bool is_struck() const { return is_.struck; }
  bool is_added() const { return static_cast<bool>(connection_) || is_.gone; }
  /// It gets a tree, or has one.
  bool builds_tree() const { return is_.builds_tree; }
  bool sets_up() const { return is_.sets_up; }
  /// It has sent its last answer before its tasks start.
  bool is_done() const { return is_.done; }
  /// The launcher has closed its connection.
  bool is_gone() const { return is_.gone; }
  size_t files_received() const { return incoming_.files; }
  std::string folder() const {
    return plan_.original ? scene_.tree.root : format("/trees/{}", plan_.tree);
  }

 private:
  void complain(const std::string& what) { scene_.complain(plan_.id, what); }
  SimulatedTree& tree() { return scene_.trees[plan_.tree]; }
  SimulatedStore& store() { return scene_.stores[plan_.store]; }
  bool is_silent() const { return is_.struck && plan_.fate.kind == SyncFate::Kind::silent; }

  void listen(uint32_t events) {
    if (watch_) watch_.set_events(events);
  }

  void read_later() {
    listen(0);
    if (reading_ || is_silent()) return;
    reading_ = loop_.after(scene_.random.up_to(plan_.latency), [this] { read(); });
  }

  void read() {
    reading_ = Timer();
    if (!connection_ || is_silent() || is_.working) return;
    Bytes piece(1 + scene_.random.below(plan_.read_bytes));
    const ssize_t n = ::recv(connection_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return end();
    if (n > 0) received_.insert(received_.end(), piece.begin(), piece.begin() + n);
    handle_received();
    if (connection_ && !is_.working) listen(EPOLLIN);
  }

  void end() {
    watch_ = Watch();
    connection_.reset();
    is_.gone = true;
  }

  void handle_received() {
    size_t used = 0;
    while (connection_ && !is_.working && !is_silent()) {
      const auto frame = front_frame(ByteSpan(received_).subspan(used));
      if (!frame) return complain("gets bytes that are no frame");
      if (!*frame) break;
      used += frame_header_bytes + (*frame)->header.length;
      ++messages_;
      if (plan_.fate.message == messages_ && !plan_.fate.at) strike();
      if (!is_.struck) handle(**frame);
    }
    // Its memory is not the server's, which a test measures.
    if (is_silent()) {
      used = received_.size();
      incoming_ = {};
    }
    received_ = Bytes(received_.begin() + static_cast<ptrdiff_t>(used), received_.end());
  }

  void strike() {
    if (plan_.fate.kind == SyncFate::Kind::none || std::exchange(is_.struck, true)) return;
    working_ = Timer();
    switch (plan_.fate.kind) {
      case SyncFate::Kind::none:
      case SyncFate::Kind::silent:
        return listen(0);
      case SyncFate::Kind::closes:
        return end();
      case SyncFate::Kind::full:
        send(SyncMessage::failed, encode(SyncFailure{"no space left on device"}));
        break;
      case SyncFate::Kind::confused:
        if (scene_.random.percent(50))
          send(static_cast<SyncMessage>(200));
        else
          write(Bytes(64, std::byte{0xff}));
        break;
    }
    // A process that has failed reads on, and waits for the end of its connection.
    is_.working = false;
    listen(EPOLLIN);
  }

  void send(SyncMessage type, ByteSpan payload = {}) {
    Bytes frame;
    append_sync_message(frame, type, payload);
    write(frame);
  }

  void write(ByteSpan bytes) {
    if (!connection_) return;
    const ssize_t n =
        ::send(connection_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) return;
    if (n != static_cast<ssize_t>(bytes.size())) complain("has answers that nobody reads");
  }

  void handle(const FrameView& frame) {
    switch (static_cast<SyncMessage>(frame.header.type)) {
      case SyncMessage::place:
        return place(decode<PlaceOrder>(frame.payload).value());
      case SyncMessage::look:
        return look();
      case SyncMessage::manifest_part:
        incoming_.manifest.insert(incoming_.manifest.end(), frame.payload.begin(),
                                  frame.payload.end());
        return;
      case SyncMessage::manifest:
        return begin_tree();
      case SyncMessage::object:
        return begin_object(decode<ObjectStart>(frame.payload).value().entry);
      case SyncMessage::object_bytes:
        if (!incoming_.object) return complain("gets bytes of no file");
        return incoming_.object->add(frame.payload);
      case SyncMessage::object_end:
        return end_object();
      case SyncMessage::build:
        return work(plan_.builds, [this] { build(); });
      case SyncMessage::adopt:
        return work(milliseconds(5), [this] { adopt(); });
      case SyncMessage::set_up:
        return begin_setup(decode<SetUpOrder>(frame.payload).value().runs);
      case SyncMessage::close:
        return send(SyncMessage::closed);
      default:
        return complain("gets an unknown message");
    }
  }

  void place(const PlaceOrder& order) {
    marker_ = order.marker;
    if (order.original.empty() == plan_.original) complain("is to use the wrong tree");
    if (!plan_.original) tree().markers.insert(marker_);
    store().markers.insert(marker_);
    send(SyncMessage::placed);
  }

  void look() {
    Seen seen;
    const auto& of_store = store().markers;
    const auto& of_tree = tree().markers;
    seen.store.assign(of_store.begin(), of_store.end());
    if (!plan_.original) {
      seen.tree.assign(of_tree.begin(), of_tree.end());
      // Without a target, the tree lies in the store, and so do the markers.
      if (!scene_.tree.place.target) seen.tree = seen.store;
    }
    send(SyncMessage::seen, encode(seen));
  }

  void begin_tree() {
    if (incoming_.manifest != scene_.tree.encoded) complain("gets another list of files");
    if (plan_.original) complain("gets a tree that it has");
    if (const auto* const rival = rival_of_tree_(*this))
      complain(format("gets a tree that host {} gets or has", rival->plan().id));
    is_.builds_tree = true;
    Lacking lacking;
    for (uint32_t at = 0; at < scene_.tree.manifest.entries.size(); ++at) {
      const TreeEntry& entry = scene_.tree.manifest.entries[at];
      if (entry.kind != TreeEntry::Kind::file || store().objects.contains(entry.digest)) continue;
      if (incoming_.wanted.insert(entry.digest).second) lacking.entries.push_back(at);
    }
    // A long list comes in several messages.
    if (lacking.entries.size() > 1 && scene_.random.percent(30)) {
      send(SyncMessage::lacking, encode(Lacking{{lacking.entries.front()}, true}));
      lacking.entries.erase(lacking.entries.begin());
    }
    send(SyncMessage::lacking, encode(lacking));
  }

  void begin_object(uint32_t entry) {
    if (incoming_.object) complain("gets a file before the end of another");
    if (entry >= scene_.tree.manifest.entries.size()) return complain("gets a file of no entry");
    incoming_.expected = scene_.tree.manifest.entries[entry].digest;
    if (!incoming_.wanted.contains(incoming_.expected))
      complain("gets a file that it has not asked for");
    incoming_.object.emplace();
    if (loop_.now() - incoming_.progress_at < seconds(1)) return;
    incoming_.progress_at = loop_.now();
    send(SyncMessage::progress);
  }

  void end_object() {
    if (!incoming_.object) return complain("gets the end of no file");
    if (incoming_.object->finish() != incoming_.expected) complain("gets a wrong content");
    incoming_.object.reset();
    incoming_.wanted.erase(incoming_.expected);
    store().objects.insert(incoming_.expected);
    ++incoming_.files;
    const size_t times = ++store().received[{plan_.tree, incoming_.expected}];
    if (times > 1 + store().lost[incoming_.expected])
      complain("gets a content that its group has got");
  }

  void work(Duration takes, std::function<void()> then) {
    is_.working = true;
    listen(0);
    if (takes <= seconds(1)) {
      working_ = loop_.after(takes, [this, then = std::move(then)] {
        is_.working = false;
        then();
        handle_received();
        if (connection_ && !is_.working && !is_silent()) listen(EPOLLIN);
      });
      return;
    }
    working_ = loop_.after(seconds(1), [this, takes, then = std::move(then)]() mutable {
      send(SyncMessage::progress);
      work(takes - seconds(1), std::move(then));
    });
  }

  void build() {
    for (const TreeEntry& entry : scene_.tree.manifest.entries)
      if (entry.kind == TreeEntry::Kind::file && !store().objects.contains(entry.digest))
        return ask_again();
    if (std::exchange(plan_.loses_object, false) && !store().objects.empty()) {
      ++store().lost[*store().objects.begin()];
      store().objects.erase(store().objects.begin());
      return ask_again();
    }
    tree().is_whole = true;
    finish_tree();
  }

  void ask_again() {
    if (!incoming_.wanted.empty()) complain("is to build a tree without all files");
    is_.builds_tree = false;
    begin_tree();
  }

  void adopt() {
    if (incoming_.manifest != scene_.tree.encoded) complain("gets another list of files");
    if (!plan_.original && !tree().is_whole) complain("is to adopt a tree that is not there");
    finish_tree();
  }

  void finish_tree() {
    is_.has_tree = true;
    is_.done = !scene_.tree.setup;
    send(SyncMessage::built, encode(Built{folder()}));
  }

  void begin_setup(bool runs) {
    if (!is_.has_tree) complain("is set up without a tree");
    if (!runs && !store().is_set_up) complain("joins a setup that nobody has run");
    if (runs)
      if (const auto* const rival = rival_of_setup_(*this))
        complain(format("is set up, as host {} is", rival->plan().id));
    is_.sets_up = true;
    send(SyncMessage::output, as_bytes("a line\n"));
    work(runs ? plan_.sets_up : milliseconds(1), [this] {
      store().is_set_up = true;
      is_.done = true;
      send(SyncMessage::is_set_up, encode(IsSetUp{format("/setups/{}", plan_.store), true}));
    });
  }

  /// The tree that comes.
  struct Incoming {
    Bytes manifest;
    std::set<Digest> wanted;
    std::optional<Sha256> object;
    Digest expected = {};
    size_t files = 0;
    Time progress_at;
  };
  struct Progress {
    bool struck = false;
    bool working = false;  ///< it reads nothing
    bool gone = false;
    bool builds_tree = false;
    bool has_tree = false;
    bool sets_up = false;
    bool done = false;
  };

  SyncScene& scene_;
  Loop& loop_;
  SyncHostPlan plan_;
  Rival rival_of_tree_;
  Rival rival_of_setup_;
  Fd connection_;
  Watch watch_;
  Timer reading_;
  Timer working_;
  Timer striking_;
  Bytes received_;
  size_t messages_ = 0;
  std::string marker_;
  Incoming incoming_;
  Progress is_;
};

}  // namespace dt
