#include "launcher/sync/server/sync_server.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

using State = HostPeer::State;

bool builds_tree(const HostPeer& peer) {
  return peer.state() == State::receiving || peer.state() == State::building;
}

bool has_tree(const HostPeer& peer) {
  return peer.state() == State::built || peer.state() == State::setting_up ||
         peer.state() == State::ready;
}

}  // namespace

SyncServer::SyncServer(Loop& loop, const SyncedTree& tree, Options options, Send send)
    : loop_(loop), tree_(tree), options_(options), send_(std::move(send)) {
  check_progress();
}

void SyncServer::add(HostOrder host, Fd connection) {
  const uint32_t id = host.id;
  const std::string name = host.name;
  auto peer = std::make_unique<HostPeer>(
      loop_, std::move(host), tree_,
      HostPeer::Handlers{
          .on_step = [this] { step_soon(); },
          .on_note =
              [this, name](const std::string& text) {
                send_(SyncEvent::note, 0, as_bytes(format("{}: {}", name, text)));
              },
          .on_seen =
              [this, id](const Seen& seen) {
                trees_.see(id, seen.tree);
                stores_.see(id, seen.store);
              },
          .on_output = [this, id](ByteSpan bytes) { send_(SyncEvent::output, id, bytes); },
          .on_file =
              [this](SyncMessage type, ByteSpan payload) {
                return fetching_ == nullptr ? Result<>() : fetching_->take(type, payload);
              },
          .on_broken_tree =
              [this](const Error& why) {
                if (std::exchange(broken_, true)) return;
                send_(SyncEvent::failed, 0, as_bytes(why.message));
              }});
  HostPeer& added = *peer;
  sites_.push_back({.peer = std::move(peer)});
  trees_.add(id, added.marker());
  stores_.add(id, added.marker());
  const auto opened = added.open(std::move(connection));
  if (!opened) added.fail(opened.error().message);
}

void SyncServer::start() {
  for (Site& site : sites_)
    site.started = true;
  step_soon();
}

void SyncServer::pause() {
  for (const Site& site : sites_)
    site.peer->pause();
}

void SyncServer::resume() {
  for (const Site& site : sites_)
    site.peer->resume();
}

void SyncServer::finish(Fetching* fetching, uint32_t host) {
  finishing_ = true;
  fetching_ = fetching;
  fetched_host_ = host;
  if (fetching_ != nullptr) fetch();
  step_soon();
}

void SyncServer::fetch() {
  if (fetched_host_ == 0) {
    const auto copied = fetching_->copy_from(tree_.root);
    if (!copied) send_(SyncEvent::warning, 0, as_bytes("--fetch: " + copied.error().message));
    return end_fetch();
  }
  for (const Site& site : sites_) {
    if (site.peer->host().id == fetched_host_ && site.peer->state() == State::ready)
      return site.peer->fetch(fetching_->patterns());
  }
  send_(SyncEvent::warning, 0, as_bytes("--fetch: the host of rank 0 is lost"));
  fetching_ = nullptr;
}

bool SyncServer::is_fetching() const {
  return std::ranges::any_of(
      sites_, [](const Site& site) { return site.peer->state() == State::fetching; });
}

/// The host may have failed before all files had come.
void SyncServer::warn_of_lost_fetch() {
  for (const Site& site : sites_) {
    const HostPeer& peer = *site.peer;
    if (peer.host().id != fetched_host_ || peer.state() != State::failed) continue;
    const std::string text =
        format("--fetch: {}: {}; files are missing, and may still be in {} there", peer.host().name,
               peer.why(), printable(peer.tree().folder, Manifest::path_bytes_max));
    send_(SyncEvent::warning, 0, as_bytes(text));
  }
}

void SyncServer::end_fetch() {
  for (const std::string& warning : fetching_->warnings())
    send_(SyncEvent::warning, 0, as_bytes(warning));
  fetching_ = nullptr;
}

/// Not at once: a step may be reported from within a call of step().
void SyncServer::step_soon() {
  if (!stepping_) stepping_ = loop_.after(Duration::zero(), [this] { step(); });
}

void SyncServer::step() {
  stepping_ = Timer();
  if (broken_ && !finishing_) return;
  if (finishing_) {
    if (is_fetching()) return;
    if (fetching_ != nullptr) warn_of_lost_fetch();
    if (fetching_ != nullptr) end_fetch();
    return close_trees();
  }
  look();
  send_trees();
  set_up();
  report();
}

/// A host looks for the markers of others when all of them have put theirs.
void SyncServer::look() {
  const bool all_placed = std::ranges::all_of(sites_, [](const Site& site) {
    return site.started && site.peer->state() != State::placing;
  });
  if (!all_placed) return;
  for (const Site& site : sites_)
    if (site.peer->state() == State::placed) site.peer->look();
}

void SyncServer::send_trees() {
  const bool any_looks = std::ranges::any_of(sites_, [](const Site& site) {
    const State state = site.peer->state();
    return state == State::placing || state == State::placed || state == State::looking;
  });
  const bool any_waits = std::ranges::any_of(
      sites_, [](const Site& site) { return site.peer->state() == State::looked; });
  if (any_looks || !any_waits) return;
  auto receivers = static_cast<size_t>(
      std::ranges::count_if(sites_, [](const Site& site) { return site.peer->is_receiving(); }));
  std::map<uint32_t, const HostPeer*> builders = find_builders();
  for (const Site& site : sites_) {
    HostPeer& peer = *site.peer;
    if (peer.state() != State::looked) continue;
    if (receivers >= options_.receivers_max) return;
    const uint32_t group = trees_.group(peer.host().id);
    const auto builder = builders.find(group);
    const bool is_first = builder == builders.end() && !peer.host().original;
    if (is_first) {
      builders.emplace(group, &peer);
      peer.send_tree();
    } else if (peer.host().original || has_tree(*builder->second)) {
      peer.adopt();
    } else {
      continue;
    }
    ++receivers;
  }
}

/// Returns the host that makes or has made the tree of each group. The original is no such tree,
/// though its host may share the folder.
std::map<uint32_t, const HostPeer*> SyncServer::find_builders() const {
  std::map<uint32_t, const HostPeer*> builders;
  for (const Site& site : sites_) {
    const HostPeer& peer = *site.peer;
    if (peer.host().original || !(has_tree(peer) || builds_tree(peer))) continue;
    const auto at = builders.try_emplace(trees_.group(peer.host().id), &peer).first;
    if (has_tree(peer)) at->second = &peer;
  }
  return builders;
}

/// One of the hosts that share a folder for setups runs the commands, and the others wait for it.
void SyncServer::set_up() {
  const bool any_built = std::ranges::any_of(
      sites_, [](const Site& site) { return site.peer->state() == State::built; });
  if (!any_built) return;
  std::map<uint32_t, bool> setups = find_setups();
  for (const Site& site : sites_) {
    if (site.peer->state() != State::built) continue;
    const auto [setup, is_first] = setups.try_emplace(stores_.group(site.peer->host().id), false);
    const bool is_ready = setup->second;
    if (is_first || is_ready) site.peer->set_up(is_first);
  }
}

/// Returns the groups with a setup: true if it is ready, false while it runs.
std::map<uint32_t, bool> SyncServer::find_setups() const {
  std::map<uint32_t, bool> setups;
  for (const Site& site : sites_) {
    const State state = site.peer->state();
    if (state != State::setting_up && state != State::ready) continue;
    setups[stores_.group(site.peer->host().id)] |= state == State::ready;
  }
  return setups;
}

void SyncServer::report() {
  for (Site& site : sites_) {
    const HostPeer& peer = *site.peer;
    if (site.reported || (peer.state() != State::ready && peer.state() != State::failed)) continue;
    site.reported = true;
    if (peer.state() == State::ready)
      send_(SyncEvent::ready, peer.host().id, encode(peer.tree()));
    else
      send_(SyncEvent::host_failed, peer.host().id, as_bytes(peer.why()));
  }
}

void SyncServer::close_trees() {
  for (const Site& site : sites_)
    if (site.peer->state() == State::ready) site.peer->close();
  const bool any_open = std::ranges::any_of(
      sites_, [](const Site& site) { return site.peer->state() == State::closing; });
  if (any_open || std::exchange(finished_, true)) return;
  send_(SyncEvent::finished, 0, {});
}

void SyncServer::check_progress() {
  for (const Site& site : sites_)
    site.peer->check_progress(options_.silence_max);
  checking_ = loop_.after(seconds(1), [this] { check_progress(); });
}

}  // namespace dt
