#include "launcher/sync/host/serve_sync.h"

#include "base/clock.h"
#include "base/environment.h"
#include "base/format.h"
#include "base/wall_time.h"
#include "launcher/environment/environment.h"
#include "launcher/protocol/message.h"
#include "launcher/sync/fetch/fetch_sender.h"
#include "launcher/sync/fetch/fetch_source.h"
#include "launcher/sync/host/markers.h"
#include "launcher/sync/host_frames.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/messages.h"
#include "launcher/sync/setup/kept_setups.h"
#include "launcher/sync/setup/setup_run.h"
#include "launcher/sync/store/content_writer.h"
#include "launcher/sync/store/kept_trees.h"
#include "launcher/sync/store/object_store.h"
#include "launcher/sync/store/store_folder.h"
#include "launcher/sync/store/tree_site.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

constexpr Duration progress_interval = seconds(1);

/// The work of a host's sync process, message by message.
class HostSync {
 public:
  explicit HostSync(HostFrames& frames) : frames_(frames) {}
  Result<> handle(const FrameView& frame);
  /// Removes a tree to which nothing was written, and ends all locks.
  Result<> leave();
  /// The same after a failure on this host, such as that of a full disk.
  void leave_failed();

 private:
  Result<> place(PlaceOrder order);
  Result<> look();
  Result<> add_to_manifest(ByteSpan piece);
  Result<> open_site();
  Result<> send_lacking();
  Result<> start_object(const ObjectStart& start);
  Result<> end_object(ByteSpan payload);
  Result<> build();
  Result<> adopt();
  Result<> set_up(const SetUpOrder& order);
  SetupOrder setup_order(const SetUpOrder& order) const;
  Result<> send_files(const FetchPatterns& wanted);
  Result<> close();
  Result<> send_built(std::string folder);
  void report_progress();

  HostFrames& frames_;
  PlaceOrder order_;
  SiteOrder site_order_;
  std::optional<StoreFolder> store_;
  std::optional<ObjectStore> objects_;
  std::optional<Markers> store_marker_;
  std::optional<Markers> tree_marker_;  ///< none: the tree lies in the store, or is the original
  std::string target_own_;              ///< dtrain's folder in a TARGET; empty: there is none
  Bytes encoded_;
  Manifest manifest_;
  std::optional<TreeSite> site_;
  std::optional<ContentWriter> object_;
  size_t object_entry_ = 0;  ///< its number
  std::string folder_;       ///< the tree's root, when it is there
  std::optional<SetupDone> setup_;
  bool had_broken_object_ = false;
  Time progress_at_;
};

Result<> HostSync::handle(const FrameView& frame) {
  switch (static_cast<SyncMessage>(frame.header.type)) {
    case SyncMessage::place: {
      auto order = TRY(decode<PlaceOrder>(frame.payload));
      return place(std::move(order));
    }
    case SyncMessage::look:
      return look();
    case SyncMessage::manifest_part:
      return add_to_manifest(frame.payload);
    case SyncMessage::manifest:
      TRY(open_site());
      return send_lacking();
    case SyncMessage::object: {
      const auto start = TRY(decode<ObjectStart>(frame.payload));
      return start_object(start);
    }
    case SyncMessage::object_bytes:
      if (!object_) return fail(Errc::protocol, "bytes of no object");
      return object_->write(frame.payload);
    case SyncMessage::object_end:
      return end_object(frame.payload);
    case SyncMessage::build:
      return build();
    case SyncMessage::adopt:
      return adopt();
    case SyncMessage::set_up: {
      const auto order = TRY(decode<SetUpOrder>(frame.payload));
      return set_up(order);
    }
    case SyncMessage::fetch: {
      const auto wanted = TRY(decode<FetchPatterns>(frame.payload));
      return send_files(wanted);
    }
    case SyncMessage::close:
      return close();
    default:
      return fail(Errc::protocol, format("unknown message {} for --sync", frame.header.type));
  }
}

Result<> HostSync::place(PlaceOrder order) {
  order_ = std::move(order);
  Environment environment = process_environment();
  store_ = TRY(StoreFolder::find(store_candidates(environment)));
  Markers in_store = TRY(Markers::put(store_->path(), order_.job, order_.marker));
  store_marker_.emplace(std::move(in_store));
  site_order_ = {.job = order_.job,
                 .target = order_.target.value_or(""),
                 .into = order_.into,
                 .home = environment["HOME"],
                 .source_root = order_.source,
                 .source_marker = order_.source_marker};
  if (order_.target && order_.original.empty()) {
    const SitePlace place = TRY(find_place(site_order_, *store_));
    TRY(make_place(place, site_order_));
    Markers in_tree = TRY(Markers::put(place.own, order_.job, order_.marker));
    tree_marker_.emplace(std::move(in_tree));
    target_own_ = place.own;
  }
  return frames_.write(SyncMessage::placed);
}

Result<> HostSync::look() {
  Seen seen = {.tree = {}, .store = store_marker_->all()};
  if (order_.original.empty()) seen.tree = tree_marker_ ? tree_marker_->all() : seen.store;
  return frames_.write(SyncMessage::seen, encode(seen));
}

Result<> HostSync::add_to_manifest(ByteSpan piece) {
  if (encoded_.size() + piece.size() > Manifest::bytes_max)
    return fail(Errc::protocol, "the list of files is too long");
  encoded_.insert(encoded_.end(), piece.begin(), piece.end());
  return {};
}

Result<> HostSync::open_site() {
  manifest_ = TRY(decode_manifest(encoded_));
  encoded_ = {};
  objects_ = TRY(ObjectStore::open(*store_));
  site_ = TRY(TreeSite::open(site_order_, *store_));
  return {};
}

Result<> HostSync::send_lacking() {
  const std::vector<size_t> lacking =
      TRY(site_->lacking(manifest_, *objects_, [this] { report_progress(); }));
  Lacking message;
  for (const size_t entry : lacking) {
    if (message.entries.size() == Lacking::entries_max) {
      message.more = true;
      TRY(frames_.write(SyncMessage::lacking, encode(std::exchange(message, {}))));
    }
    message.entries.push_back(static_cast<uint32_t>(entry));
  }
  return frames_.write(SyncMessage::lacking, encode(message));
}

Result<> HostSync::start_object(const ObjectStart& start) {
  if (!site_ || start.entry >= manifest_.entries.size())
    return fail(Errc::protocol, "an object of no entry");
  object_.reset();
  ContentWriter writer = TRY(site_->receive(manifest_, start.entry, *objects_));
  object_.emplace(std::move(writer));
  object_entry_ = start.entry;
  report_progress();
  return {};
}

Result<> HostSync::end_object(ByteSpan payload) {
  Reader reader(payload);
  const bool as_listed = reader.number<bool>();
  TRY(reader.finish("the end of an object"));
  if (!object_) return fail(Errc::protocol, "the end of no object");
  if (as_listed) {
    TRY(object_->commit());
    site_->received(manifest_, object_entry_);
  }
  object_.reset();
  return {};
}

Result<> HostSync::build() {
  if (!site_) return fail(Errc::protocol, "a build without a list of files");
  auto built =
      site_->build(manifest_, *objects_, [this](const BuildProgress&) { report_progress(); });
  if (built) return send_built(site_->root());
  // Another process may have removed an object, or it was broken.
  if (built.error().code != Errc::not_found || std::exchange(had_broken_object_, true))
    return built;
  return send_lacking();
}

Result<> HostSync::adopt() {
  if (!order_.original.empty()) return send_built(order_.original);
  manifest_ = TRY(decode_manifest(encoded_));
  encoded_ = {};
  std::string folder = TRY(TreeSite::adopt(site_order_, *store_, manifest_));
  return send_built(std::move(folder));
}

Result<> HostSync::send_built(std::string folder) {
  folder_ = std::move(folder);
  return frames_.write(SyncMessage::built, encode(Built{folder_}));
}

SetupOrder HostSync::setup_order(const SetUpOrder& order) const {
  Environment environment = host_environment(process_environment(), order.excluded);
  for (const auto& [name, value] : order.forwarded)
    environment[name] = value;
  environment["DTRAIN_JOB_ID"] = order_.job;
  environment["DTRAIN_CODE_DIR"] = folder_;
  SetupOrder setup = {
      .commands = order.commands,
      .environment = {},
      .folder = order.below.empty() ? folder_ : format("{}/{}", folder_, order.below),
      .below = order.below,
      .store = store_->path(),
      .source = order.source,
      .target = order_.target.value_or(""),
      .job = order_.job,
      .timeout = order.timeout,
      .once = order.once,
      .files = {}};
  for (const auto& [name, value] : environment)
    setup.environment.push_back(format("{}={}", name, value));
  for (const TreeEntry& entry : manifest_.entries)
    if (entry.kind == TreeEntry::Kind::file) setup.files.emplace(entry.path, entry.digest);
  return setup;
}

Result<> HostSync::set_up(const SetUpOrder& order) {
  if (folder_.empty()) return fail(Errc::protocol, "a setup without a tree");
  const SetupOrder setup = setup_order(order);
  const SetupEvents events = {
      .output = [this](std::string_view text) -> Result<> {
        while (!text.empty()) {
          const std::string_view piece = text.substr(0, stream_chunk_bytes);
          TRY(frames_.write(SyncMessage::output, as_bytes(piece)));
          text.remove_prefix(piece.size());
        }
        return {};
      },
      .note =
          [this](const std::string& text) {
            static_cast<void>(frames_.write(SyncMessage::note, as_bytes(text)));
          },
      .connection = frames_.connection()};
  setup_ = TRY(order.runs ? run_setup(setup, events) : join_setup(setup, events));
  const SetupPlace& place = setup_->place;
  return frames_.write(SyncMessage::is_set_up, encode(IsSetUp{place.folder, place.has_bin}));
}

Result<> HostSync::send_files(const FetchPatterns& wanted) {
  const FetchSource source = TRY(FetchSource::open(folder_));
  return send_fetched(source, wanted.patterns, [this](SyncMessage type, ByteSpan payload) {
    return frames_.write(type, payload);
  });
}

Result<> HostSync::leave() {
  object_.reset();
  const auto closed = site_ ? site_->close() : Result<>();
  site_.reset();
  setup_.reset();
  if (objects_) objects_->finish(WallClock::now());
  objects_.reset();
  tree_marker_.reset();
  store_marker_.reset();
  return closed;
}

void HostSync::leave_failed() {
  object_.reset();
  if (site_) site_->drop_received();
  static_cast<void>(leave());
}

Result<> HostSync::close() {
  TRY(leave());
  prune_trees(store_->path(), WallClock::now(), {});
  prune_setups(store_->path(), WallClock::now());
  prune_markers(store_->path(), WallClock::now());
  if (!target_own_.empty()) prune_markers(target_own_, WallClock::now());
  return frames_.write(SyncMessage::closed);
}

void HostSync::report_progress() {
  const Time now = Clock::now();
  if (now - progress_at_ < progress_interval) return;
  progress_at_ = now;
  // A connection that is closed ends the next read, too.
  static_cast<void>(frames_.write(SyncMessage::progress));
}

}  // namespace

void serve_sync(Fd connection) {
  HostFrames frames(std::move(connection));
  HostSync host(frames);
  bool failed = false;
  for (;;) {
    const auto frame = frames.read();
    if (!frame || !*frame) break;
    // Orders may have been on their way when it failed.
    if (failed) continue;
    const auto handled = host.handle(**frame);
    if (handled) continue;
    failed = true;
    // The launcher learns of the first failure alone.
    host.leave_failed();
    if (!frames.write(SyncMessage::failed, encode(SyncFailure{handled.error().message}))) return;
  }
  static_cast<void>(host.leave());
}

}  // namespace dt
