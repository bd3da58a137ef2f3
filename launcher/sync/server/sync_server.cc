#include "launcher/sync/server/sync_server.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

using State = HostPeer::State;

bool shares(const HostPeer& one, const HostPeer& other, std::vector<std::string> Seen::*folder) {
  const auto sees = [folder](const HostPeer& a, const HostPeer& b) {
    return std::ranges::count(a.seen().*folder, b.marker()) > 0;
  };
  return sees(one, other) || sees(other, one);
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
  if (any_looks) return;
  for (const Site& site : sites_) {
    if (site.peer->state() != State::looked) continue;
    const HostPeer* const builder = builder_for(*site.peer);
    if (site.peer->host().original || (builder != nullptr && has_tree(*builder)))
      site.peer->adopt();
    else if (builder == nullptr)
      site.peer->send_tree();
  }
}

/// One of the hosts that share a folder for setups runs the commands, and the others wait for it.
void SyncServer::set_up() {
  for (const Site& site : sites_) {
    if (site.peer->state() != State::built || waits_for_setup(*site.peer)) continue;
    site.peer->set_up(!joins_setup(*site.peer));
  }
}

bool SyncServer::joins_setup(const HostPeer& peer) const {
  return std::ranges::any_of(sites_, [&peer](const Site& site) {
    return site.peer.get() != &peer && site.peer->state() == State::ready &&
           shares(peer, *site.peer, &Seen::store);
  });
}

bool SyncServer::waits_for_setup(const HostPeer& peer) const {
  return !joins_setup(peer) && std::ranges::any_of(sites_, [&peer](const Site& site) {
    return site.peer.get() != &peer && site.peer->state() == State::setting_up &&
           shares(peer, *site.peer, &Seen::store);
  });
}

/// Returns the host that makes or has made the tree in the folder of this one; null: none yet.
const HostPeer* SyncServer::builder_for(const HostPeer& peer) const {
  const HostPeer* working = nullptr;
  for (const Site& site : sites_) {
    const HostPeer& other = *site.peer;
    if (&other == &peer || !shares(peer, other, &Seen::tree)) continue;
    if (has_tree(other)) return &other;
    if (other.state() == State::receiving || other.state() == State::building) working = &other;
  }
  return working;
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
