#include "comm/transport/lazy_connector.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/transport/doorbell.h"
#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <utility>

namespace dt {

LazyConnector::LazyConnector(Options options, PeerListener listener)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      requests_(std::make_shared<Requests>(options_.peers, std::move(options_.wake))) {
}

LazyConnector::~LazyConnector() {
  listener_.close();
}

std::shared_ptr<TcpSocket> LazyConnector::add(size_t number, TaskEntry task,
                                              PeerEndpoint endpoint) {
  auto socket = std::make_shared<TcpSocket>([requests = requests_, index = peers_.size()] {
    requests->indices.add(index);
    requests->any.store(true);
    ring(requests->wake.get());
  });
  peers_.push_back({number, std::move(task), std::move(endpoint), socket});
  return socket;
}

Time LazyConnector::next_deadline() const {
  Time next = listener_.next_deadline();
  for (const size_t index : dialed_)
    next = std::min(next, peers_[index].dial->next_deadline());
  return next;
}

void LazyConnector::collect_fds(std::vector<pollfd>& fds) const {
  listener_.collect_fds(fds);
  // poll(2) ignores the descriptor -1.
  for (const size_t index : dialed_) {
    const PeerDial& dial = *peers_[index].dial;
    fds.push_back({.fd = dial.fd(), .events = dial.events(), .revents = 0});
  }
}

bool LazyConnector::take_events(std::span<const pollfd> fds) {
  const auto of_dials = fds.last(dialed_.size());
  for (size_t i = 0; i < dialed_.size(); ++i)
    peers_[dialed_[i]].ready = of_dials[i].revents != 0;
  listener_.take_events(fds.first(fds.size() - dialed_.size()));
  return std::ranges::any_of(fds, [](const pollfd& fd) { return fd.revents != 0; });
}

Result<std::vector<size_t>> LazyConnector::advance(Time now) {
  opened_.clear();
  const auto lock = guard_.enter();
  if (!lock.owns_lock()) return std::move(opened_);
  take_requests(now);
  const auto authenticated =
      TRY(listener_.advance(now, [&](PeerHandshake& handshake) { return admit(handshake, now); }));
  for (const auto& handshake : authenticated) {
    // A peer that was accepted twice before all had joined has its link already.
    if (Peer* peer = find(handshake->peer())) open(*peer, handshake->take());
  }
  for (const size_t index : dialed_)
    advance_dial(peers_[index], now);
  std::erase_if(dialed_, [this](size_t index) { return !peers_[index].dial; });
  // A link that is closed or has failed never connects again.
  complete_ = complete_ || (!opened_.empty() && std::ranges::all_of(peers_, [](const Peer& peer) {
                return peer.socket->connected().value_or(true);
              }));
  if (complete_) listener_.drop_pending();
  return std::move(opened_);
}

void LazyConnector::take_requests(Time now) {
  if (!requests_->any.exchange(false)) return;
  requests_->indices.for_each([&](size_t index) {
    requests_->indices.remove(index);
    Peer& peer = peers_[index];
    if (peer.dial || peer.socket->get() >= 0) return;
    peer.dial.emplace(PeerDial::Options{.claim = options_.claim,
                                        .peer = peer.task.id,
                                        .addresses = peer.endpoint.tcp,
                                        .same_host = same_host(peer),
                                        .dead_after = options_.dead_after},
                      now);
    dialed_.push_back(index);
  });
}

Result<> LazyConnector::admit(PeerHandshake& handshake, Time now) {
  const auto refuse = [&](std::string_view why) -> Result<> {
    handshake.refuse_peer(format("{} expects no connection from {}{}", options_.self.id.text(),
                                 printable(handshake.peer().text()), why));
    return fail(Errc::refused, "unexpected peer");
  };
  Peer* peer = find(handshake.peer());
  if (peer == nullptr || handshake.local()) return refuse("");
  if (peer->socket->connected().value_or(true)) return refuse(", not a second time");
  const bool wins = dials(options_.self, peer->task);
  if (wins && peer->dial && peer->dial->committed()) return refuse(" while it dials itself");
  if (peer->dial) peer->dial->yield(now);
  tune_link(handshake.fd(), same_host(*peer), options_.dead_after);
  return handshake.accept_peer({}, 0);
}

void LazyConnector::advance_dial(Peer& peer, Time now) {
  const bool ready = std::exchange(peer.ready, false);
  // The link may be closed, or connected by the peer.
  if (peer.socket->connected().value_or(true)) peer.dial.reset();
  if (!peer.dial || (!ready && now < peer.dial->next_deadline())) return;
  auto connection = peer.dial->advance(now, ready);
  if (!connection) {
    peer.socket->fail(std::move(connection).error());
    peer.dial.reset();
  } else if (*connection) {
    open(peer, std::move(**connection));
  }
}

void LazyConnector::open(Peer& peer, AuthenticatedConnection connection) {
  peer.dial.reset();
  const bool opened =
      peer.socket->open(std::move(connection.socket), connection.handshake.session());
  if (opened) opened_.push_back(peer.number);
}

LazyConnector::Peer* LazyConnector::find(const TaskId& id) {
  const auto at = std::ranges::find_if(peers_, [&](const Peer& p) { return p.task.id == id; });
  return at == peers_.end() ? nullptr : &*at;
}

}  // namespace dt
