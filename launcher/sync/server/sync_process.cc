#include "launcher/sync/server/sync_process.h"

#include "base/io/loop.h"
#include "base/io/packets.h"
#include "base/io/stream.h"
#include "base/wall_time.h"
#include "launcher/sync/group_guard.h"
#include "launcher/sync/server/folder_in_tree.h"
#include "launcher/sync/server/source_marker.h"
#include "launcher/sync/server/sync_server.h"
#include "launcher/sync/source/digest_memory.h"
#include "launcher/sync/source/make_manifest.h"
#include "launcher/sync/source/source_tree.h"
#include "launcher/sync/source/tree_size.h"
#include "launcher/sync/store/checkout_folder.h"
#include "launcher/sync/store/store_folder.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace dt {

namespace {

/// Output of setup commands that the launcher has not read.
constexpr size_t unread_bytes_max = size_t{1} << 20;

/// The launcher's sync process: the connections to the launcher, and the server for the hosts.
class SyncProcess {
 public:
  explicit SyncProcess(Loop& loop, Fd orders) : loop_(loop), orders_(std::move(orders)) {}
  Result<> open(Fd events);
  Result<> prepare(const SyncSource& source);
  Result<> serve();
  void send(SyncEvent event, uint32_t host, ByteSpan payload);

 private:
  static Result<SourceTree> find_source(const SyncSource& source);
  Result<> find_tree(const SyncSource& source, TreeFacts& facts);
  void plan_fetch(const SyncSource& source, const FoundTree& found);
  Result<> take_order();
  void add_host(HostOrder host, Fd connection);
  void finish(uint32_t host);

  Loop& loop_;
  Fd orders_;
  Watch watch_;
  std::unique_ptr<Stream> events_;
  SyncedTree tree_;
  std::optional<SourceMarker> marker_;
  std::optional<Fetching> fetching_;
  bool fetches_original_ = false;  ///< also where rank 0 uses the original
  std::map<uint32_t, std::string> host_names_;
  std::optional<SyncServer> server_;
  Duration silence_max_ = seconds(30);
  std::string no_copy_;   ///< why no host can use a copy; empty: they can
  bool started_ = false;  ///< hosts that come now are later ones
  bool failed_ = false;   ///< the launcher ends the job before any host gets its tree
  bool paused_ = false;   ///< the launcher reads output too slowly
};

Result<> SyncProcess::open(Fd events) {
  TRY(set_nonblocking(events.get()));
  events_ = TRY(Stream::open(loop_, std::move(events), Fd(),
                             {.on_bytes = [](ByteSpan bytes) { return bytes.size(); },
                              .on_end = [this](const std::optional<Error>&) { loop_.stop(); },
                              .on_drained =
                                  [this] {
                                    if (std::exchange(paused_, false)) server_->resume();
                                  }}));
  return {};
}

void SyncProcess::send(SyncEvent event, uint32_t host, ByteSpan payload) {
  Bytes frame;
  append_frame(frame, {.type = static_cast<uint8_t>(event), .stream = host}, payload);
  events_->write(frame);
  if (event != SyncEvent::output || events_->unsent() < unread_bytes_max || paused_) return;
  paused_ = true;
  server_->pause();
}

Result<> SyncProcess::prepare(const SyncSource& source) {
  tree_.place.job = source.job;
  silence_max_ = source.silence_max;
  TreeFacts facts = {.root = source.folder};
  if (source.sync) TRY(find_tree(source, facts));
  if (!source.sync) tree_.root = facts.root;
  std::string below;
  if (source.sync) below = TRY(folder_in_tree(facts, source.chdir));
  // A target may have the folder from earlier jobs.
  if (source.sync && !source.sync->target) {
    const auto checked = check_folder_in_copy(tree_.manifest, below, source.chdir);
    if (!checked) no_copy_ = checked.error().message;
  }
  tree_.setup = source.setup;
  if (tree_.setup) {
    tree_.setup->source = facts.root;
    tree_.setup->below = below;
  }
  send(SyncEvent::listed, 0, encode(facts));
  return {};
}

/// While git runs, the group of this process has a guard: git's programs must not outlive it.
Result<SourceTree> SyncProcess::find_source(const SyncSource& source) {
  std::optional<GroupGuard> guard;
  if (source.sync->repository) {
    remove_old_checkouts(source.checkout, WallClock::now());
    GroupGuard started = TRY(GroupGuard::start(getpgrp()));
    guard.emplace(std::move(started));
  }
  return find_source_tree(*source.sync, source.user,
                          {.folder = source.checkout, .joins_group = true});
}

Result<> SyncProcess::find_tree(const SyncSource& source, TreeFacts& facts) {
  const SourceTree tree = TRY(find_source(source));
  const FoundTree& found = tree.found;
  for (const std::string& note : tree.notes)
    send(SyncEvent::note, 0, as_bytes(note));
  for (const std::string& warning : found.warnings)
    send(SyncEvent::warning, 0, as_bytes(warning));
  TRY(check_tree_size(found, source.sync->bytes_max));
  const bool is_url = source.sync->repository.has_value();
  // Without a folder of its own it hashes all files each time.
  const auto store = StoreFolder::find(store_candidates(source.user.environment));
  // No later job has the files of this check-out.
  const bool remembers = store && !is_url;
  DigestMemory memory = DigestMemory::load(remembers ? store->path() : "", found.root);
  MadeManifest made = TRY(make_manifest(found, memory, WallClock::now()));
  if (remembers) static_cast<void>(memory.save());
  tree_.place = {.job = source.job,
                 .target = source.sync->target,
                 .into = source.sync->into,
                 .source = is_url ? "" : found.root};
  tree_.root = found.root;
  if (tree_.place.target && !is_url) {
    marker_.emplace(found.root, source.job);
    tree_.place.source_marker = marker_->name();
  }
  tree_.encoded = encode(made.manifest);
  tree_.manifest = std::move(made.manifest);
  plan_fetch(source, found);
  facts = {.root = tree.name,
           .place = found.place,
           .commit = found.commit,
           .dirty = found.dirty,
           .files = tree_.manifest.entries.size(),
           .bytes = tree_.manifest.total_bytes()};
  return {};
}

/// Files go back to the place in the tree that they have on the host, or to --fetch-to.
void SyncProcess::plan_fetch(const SyncSource& source, const FoundTree& found) {
  if (!source.fetch) return;
  FetchOrder order = {.folder = found.root, .job = source.job};
  const auto since_1970 = WallClock::now().time_since_epoch();
  order.started_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
  if (source.fetch->to) {
    fetches_original_ = true;
    order.folder = (std::filesystem::path(source.user.folder) / *source.fetch->to).native();
  } else {
    for (const FoundEntry& entry : found.entries)
      order.at_start.emplace(entry.entry.path, entry.facts);
  }
  fetching_.emplace(FetchWish{source.fetch->patterns, std::move(order)});
}

Result<> SyncProcess::serve() {
  server_.emplace(
      loop_, tree_, SyncServer::Options{.silence_max = silence_max_},
      [this](SyncEvent event, uint32_t host, ByteSpan payload) { send(event, host, payload); });
  watch_ = TRY(loop_.watch(orders_.get(), EPOLLIN, [this](uint32_t) {
    if (!take_order()) loop_.stop();
  }));
  return loop_.run();
}

/// Fails when the launcher has closed the connection.
Result<> SyncProcess::take_order() {
  auto packet = TRY(receive_packet(orders_.get()));
  if (!packet) return fail(Errc::closed, "the launcher has ended");
  Reader reader(packet->bytes);
  switch (reader.number<SyncOrder>()) {
    case SyncOrder::host: {
      HostOrder host = TRY(decode_host_order(reader.rest()));
      host_names_[host.id] = host.name;
      add_host(std::move(host), std::move(packet->descriptor));
      return {};
    }
    case SyncOrder::start:
      started_ = true;
      if (!failed_) server_->start();
      return {};
    case SyncOrder::finish:
      finish(reader.number<uint32_t>());
      return {};
  }
  return fail(Errc::protocol, "an unknown order");
}

/// Only hosts that need a copy fail for it, so a job whose tasks all use the original runs. A later
/// host fails alone: the job may run without it.
void SyncProcess::add_host(HostOrder host, Fd connection) {
  if (no_copy_.empty() || host.original)
    return server_->add(std::move(host), std::move(connection));
  if (started_) return send(SyncEvent::host_failed, host.id, as_bytes(no_copy_));
  if (!std::exchange(failed_, true)) send(SyncEvent::failed, 0, as_bytes(no_copy_));
}

void SyncProcess::finish(uint32_t host) {
  const auto named = host_names_.find(host);
  if (fetching_ && named != host_names_.end()) fetching_->set_host(named->second);
  const bool fetches = fetching_ && host != no_host && (host != 0 || fetches_original_);
  server_->finish(fetches ? &*fetching_ : nullptr, host);
}

Result<> run(const SyncSource& source, Fd orders, Fd events) {
  const auto loop = TRY(Loop::create());
  SyncProcess process(*loop, std::move(orders));
  TRY(process.open(std::move(events)));
  const auto prepared = process.prepare(source);
  if (prepared) return process.serve();
  process.send(SyncEvent::failed, 0, as_bytes(prepared.error().message));
  // Until the launcher has read it, and closes the connection.
  return loop->run();
}

}  // namespace

void run_sync_process(const SyncSource& source, Fd orders, Fd events) {
  // The end of the connections says enough to the launcher.
  static_cast<void>(run(source, std::move(orders), std::move(events)));
}

}  // namespace dt
