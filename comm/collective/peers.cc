#include "comm/collective/peers.h"

#include "base/format.h"
#include "comm/transport/tcp_silence.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// A peer that has left is gone after so much silence on its link, unless the link ends before. In
/// shared memory, all that it has sent is there when it leaves.
constexpr Duration drain_time = milliseconds(500);
/// A network may delay what the peer has sent before its end of the stream. This end always comes
/// unless a forked child holds the socket. The time is the kernel's longest pause between two
/// attempts.
constexpr Duration exposed_drain_time = seconds(120);
/// Most systems acknowledge sooner, so that an engine without work wakes up once and then sleeps.
constexpr Duration acknowledged_within = milliseconds(200);

/// True when no notice can explain the error better. Then the peer's system is silent, or this
/// process lacks descriptors for the link.
bool is_final(const Error& error) {
  return error.code == Errc::timeout || error.code == Errc::input;
}

}  // namespace

Peers::Peers(const EngineOptions& options, std::vector<EnginePeer> peers)
    : rank_(options.rank),
      dead_after_(options.dead_after),
      unasked_bytes_max_(options.unasked_bytes_max),
      algorithms_(options.algorithms),
      arrivals_(std::make_shared<ReadySet>(peers.size())),
      unsent_(peers.size()),
      unanswered_(peers.size()),
      unsettled_(peers.size()) {
  for (EnginePeer& given : peers) {
    Peer peer{.task = std::move(given.task),
              .link = std::move(given.link),
              .session = std::move(given.session)};
    if (peer.link) {
      peer.messages = std::make_unique<MessageLink>(
          MessageLink::Options{.link = peer.link.get(),
                               .session = peer.session.get(),
                               .peer = static_cast<int>(peers_.size()),
                               .generation = options.generation,
                               .unsent = &unsent_});
      peer.reports = peer.link->report_arrivals(arrivals_, peers_.size());
      if (!peer.reports) arrivals_->add(peers_.size());
    }
    peers_.push_back(std::move(peer));
  }
}

std::string Peers::name(int rank) const {
  const std::string& host = peers_[static_cast<size_t>(rank)].task.host;
  return host.empty() ? format("rank {}", rank) : format("rank {} (host {})", rank, host);
}

int Peers::rank_of(const TaskId& task) const {
  const auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.task.id == task; });
  return found == peers_.end() ? -1 : static_cast<int>(found - peers_.begin());
}

Result<> Peers::check_blamed(int rank) const {
  if (rank >= -1 && rank < size()) return {};
  return fail(Errc::protocol, format("blame for rank {} of {}", rank, size()));
}

void Peers::connect(int rank) {
  const Peer& peer = peers_[static_cast<size_t>(rank)];
  if (peer.link && peer.can_send) peer.link->connect();
}

void Peers::send(int rank, EngineMessageType type, uint32_t stream, ByteSpan payload,
                 Recipients recipients) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (!peer.messages || !peer.can_send) return;
  const auto number = static_cast<uint8_t>(type);
  const Result<> sent = recipients == Recipients::all
                            ? peer.messages->send_control(number, stream, payload)
                            : peer.messages->send_when_connected(number, stream, payload);
  if (sent) return;
  peer.can_send = false;
  peer.broken_why = sent.error().message;
  unsettle(peer);
}

void Peers::send_all(EngineMessageType type, uint32_t stream, ByteSpan payload,
                     Recipients recipients) {
  for (int rank = 0; rank < size(); ++rank)
    send(rank, type, stream, payload, recipients);
}

bool Peers::poll(int rank) {
  const Peer& peer = peers_[static_cast<size_t>(rank)];
  return peer.link && peer.can_receive && peer.link->poll();
}

bool Peers::receive(MessageReceiver& receiver, Time now) {
  bool moved = false;
  arrivals_->for_each([&](size_t rank) {
    Peer& peer = peers_[rank];
    if (!peer.reports) {
      moved |= receive_from(peer, receiver, now);
      return;
    }
    // Removed first: an arrival during the call adds it again.
    arrivals_->remove(rank);
    const auto add_again = [&] {
      if (peer.can_receive && (peer.link->may_receive() || peer.messages->has_waiting()))
        arrivals_->add(rank);
    };
    try {
      moved |= receive_from(peer, receiver, now);
    } catch (...) {
      add_again();
      throw;
    }
    add_again();
  });
  return moved;
}

bool Peers::receive_from(Peer& peer, MessageReceiver& receiver, Time now) {
  if (!peer.can_receive) return false;
  const Result<bool> received = peer.messages->receive(receiver);
  if (!received) broken(peer, received.error(), now);
  if (received && !*received) return false;
  if (peer.left) peer.since = now;
  return true;
}

bool Peers::flush(Time now) {
  bool moved = false;
  unsent_.for_each([&](size_t rank) {
    Peer& peer = peers_[rank];
    if (peer.can_send) moved |= flush_to(peer, now);
    if (!peer.can_send || peer.messages->all_sent()) unsent_.remove(rank);
  });
  settle(now);
  return moved;
}

bool Peers::flush_to(Peer& peer, Time now) {
  const Result<bool> sent = peer.messages->flush();
  if (sent) {
    if (*sent && peer.link->exposed()) {
      unanswered_.add(index_of(peer));
      check_at_ = std::min(check_at_, now + acknowledged_within);
    }
    return *sent;
  }
  if (sent.error().code == Errc::protocol || is_final(sent.error())) {
    broken(peer, sent.error(), now);
  } else {
    // Bytes that the peer sent before it closed may still be unread: receiving stays possible.
    peer.can_send = false;
    unsettle(peer);
  }
  return true;
}

bool Peers::all_sent() {
  bool sent = true;
  unsent_.for_each([&](size_t rank) {
    const Peer& peer = peers_[rank];
    sent = sent && (!peer.can_send || peer.gone || peer.messages->all_sent());
  });
  return sent;
}

void Peers::broken(Peer& peer, const Error& error, Time now) {
  close_link(peer);
  const bool silent = is_final(error);
  if (silent || error.code == Errc::protocol) peer.broken_why = error.message;
  // There is no reason to wait for the launcher's notice; a silent peer has had that time.
  if (!peer.left) peer.since = silent ? now - dead_after_ : now;
}

void Peers::check_answers(Time now) {
  if (now < check_at_) return;
  check_at_ = Time::max();
  unanswered_.for_each([&](size_t rank) {
    Peer& peer = peers_[rank];
    const Result<bool> due = peer.can_receive ? peer.link->check_answers(dead_after_) : false;
    if (!due) broken(peer, due.error(), now);
    if (!due || !*due) return unanswered_.remove(rank);
    check_at_ = now + tcp_judged_every;
  });
}

/// Closes the link, so that the peer detects a failure that only this rank has seen.
void Peers::close_link(Peer& peer) {
  peer.can_receive = false;
  peer.can_send = false;
  peer.link->close();
  unsettle(peer);
}

void Peers::unsettle(const Peer& peer) {
  if (!peer.gone) unsettled_.add(index_of(peer));
}

std::optional<Time> Peers::gone_at(const Peer& peer) const {
  if (!peer.messages || peer.gone) return std::nullopt;
  if (!peer.since) return std::nullopt;
  // Not idle: its last data is still queued for this rank.
  if (peer.left && peer.can_receive && peer.messages->has_waiting()) return std::nullopt;
  if (peer.left && !peer.can_receive) return peer.since;
  if (peer.left && !peer.link->connected().value_or(false)) return peer.since;
  if (peer.left) return *peer.since + (peer.link->exposed() ? exposed_drain_time : drain_time);
  return *peer.since + dead_after_;
}

void Peers::settle(Time now) {
  check_answers(now);
  unsettled_.for_each([&](size_t rank) {
    Peer& peer = peers_[rank];
    if (!peer.since) peer.since = now;
    const std::optional<Time> at = gone_at(peer);
    if (!at || *at > now) return;
    peer.gone = true;
    unsettled_.remove(rank);
    close_link(peer);
  });
}

Time Peers::next_deadline() {
  Time next = check_at_;
  unsettled_.for_each(
      [&](size_t rank) { next = std::min(next, gone_at(peers_[rank]).value_or(Time::max())); });
  return next;
}

void Peers::left(int rank, Time now) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.left = true;
  peer.since = now;
  unsettle(peer);
}

void Peers::close_all() {
  for (Peer& peer : peers_)
    if (peer.messages) close_link(peer);
}

int Peers::first_lost(std::span<const int> ranks) const {
  int first = -1;
  Time since = Time::max();
  for (const int rank : ranks) {
    const Peer& peer = peers_[static_cast<size_t>(rank)];
    if (!peer.since || *peer.since >= since) continue;
    first = rank;
    since = *peer.since;
  }
  return first;
}

std::string Peers::gone_reason(int rank) const {
  const Peer& peer = peers_[static_cast<size_t>(rank)];
  if (peer.left) return name(rank) + " has left the job";
  const std::string lost = "connection to " + name(rank) + " lost";
  return peer.broken_why.empty() ? lost : lost + ": " + peer.broken_why;
}

}  // namespace dt
