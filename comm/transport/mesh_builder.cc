#include "comm/transport/mesh_builder.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/io/socket.h"
#include "base/text.h"
#include "comm/transport/local_socket.h"
#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace dt {

namespace {

constexpr Duration dial_again_after = milliseconds(100);
constexpr Duration first_dial_timeout = milliseconds(500);
constexpr size_t missing_named_max = 8;
// The socket of a peer and, for one on this host, its doorbell.
constexpr size_t files_of_tcp_peer = 1;
constexpr size_t files_of_local_peer = 2;
// Listeners, the mesh's own descriptors, and connections that are accepted or dialed twice.
constexpr size_t files_for_joining = 16;

/// "rank 1 (worker:1 on node2)".
std::string describe(const TaskEntry& task) {
  return format("rank {} ({} on {})", task.rank, task.id.text(), printable(task.host));
}

}  // namespace

MeshBuilder::MeshBuilder(RendezvousClient& client, Options options)
    : client_(client),
      options_(std::move(options)),
      exchange_(client, client.table().world_size()) {
}

Result<> MeshBuilder::run(Time deadline) {
  TRY(find_peers());
  if (peers_.empty()) return {};
  TRY(reserve_descriptors());
  listener_ = TRY(open_listener());
  // From here on this task waits for the others, so the clock that excludes stops of this process
  // starts now.
  clock_ = RunningTimeClock();
  // Asks before it publishes: a rank that has the list of endpoints may leave at once, and its own
  // endpoint is then gone. When the last rank has published, all ranks have asked.
  TRY(exchange_.ask(deadline - clock_.now()));
  PeerEndpoint endpoint = listener_->endpoint();
  endpoint.transport = options_.transport;
  TRY(exchange_.publish(endpoint));
  while (true) {
    TRY(round(deadline));
    if (complete()) return {};
    if (clock_.now() >= deadline) return missing();
    wait(deadline);
  }
}

Result<> MeshBuilder::find_peers() {
  const TaskEntry& self = client_.self();
  if (options_.transport != Transport::tcp) {
    locals_ = TRY(LocalGroup::create(client_.table(), self));
  }
  for (const TaskEntry& task : client_.table().tasks) {
    if (task.rank < 0 || task.id == self.id) continue;
    const int slot = locals_.slot_of(task.id);
    peers_.push_back(
        {.task = task, .slot = slot, .connects_later = slot < 0 && !one_way(self, task)});
    if (options_.transport == Transport::shm && !peers_.back().local()) {
      return fail(Errc::input,
                  format("{} is on another host, which shared memory cannot reach; use "
                         "the transport auto or tcp",
                         describe(task)));
    }
  }
  return {};
}

/// Without its descriptors a task would retry until its deadline, and blame the ranks that it
/// lacks.
Result<> MeshBuilder::reserve_descriptors() const {
  size_t files = files_for_joining;
  files += client_.self().addresses.size() * PeerListener::sockets_for(peers_.size());
  for (const Peer& peer : peers_)
    files += peer.local() ? files_of_local_peer : files_of_tcp_peer;
  return ensure_open_files(files, format("the links to {} other ranks", peers_.size()));
}

Result<PeerListener> MeshBuilder::open_listener() const {
  const TaskEntry& self = client_.self();
  PeerListener::Options options{.claim = options_.claim, .tcp_ips = {}};
  if (!std::ranges::all_of(peers_, &Peer::local)) {
    options.tcp_ips = self.addresses;
    if (options.tcp_ips.empty()) options.tcp_ips = {client_.local().ip};
  }
  options.held_port = options_.port;
  options.local = !locals_.empty();
  options.pending_max += peers_.size();
  options.unaccepted_max = peers_.size();
  options.timeout = options_.handshake_timeout;
  return PeerListener::open(std::move(options));
}

Result<> MeshBuilder::round(Time deadline) {
  const Time now = clock_.now();
  const auto authenticated =
      TRY(listener_->advance(now, [this](PeerHandshake& handshake) { return admit(handshake); }));
  for (const auto& handshake : authenticated) {
    // A peer that dials again has abandoned its earlier connection: the newest one counts.
    Peer* peer = find(handshake->peer());
    peer->connection = std::make_unique<AuthenticatedConnection>(handshake->take());
  }
  TRY(advance_dialed(now));
  // Only after the connections: a peer that joined and ended at once is connected by now.
  if (!complete() && now < deadline) TRY(read_rendezvous(deadline));
  return {};
}

void MeshBuilder::wait(Time deadline) {
  std::vector<pollfd> fds;
  std::vector<Peer*> dialed;
  listener_->collect_fds(fds);
  const size_t listening = fds.size();
  fds.push_back({.fd = client_.fd(), .events = POLLIN, .revents = 0});
  Time until = std::min(deadline, listener_->next_deadline());
  for (Peer& peer : peers_) {
    if (peer.dialing) {
      fds.push_back({.fd = peer.dialing->fd(), .events = peer.dialing->events(), .revents = 0});
      dialed.push_back(&peer);
      if (!peer.dialing->committed()) until = std::min(until, peer.dialing->deadline());
    } else if (peer.endpoint && !peer.joined()) {
      until = std::min(until, peer.dial_at);
    }
  }
  // After a failure of poll, the next round tries every connection.
  if (poll(fds.data(), fds.size(), poll_ms(Clock::now(), clock_.wake_up_at(until))) < 0) {
    for (pollfd& fd : fds)
      fd.revents = POLLERR;
  }
  // With many ranks, most rounds have news on few connections.
  listener_->take_events(std::span(fds).first(listening));
  for (size_t i = 0; i < dialed.size(); ++i)
    dialed[i]->ready = fds[listening + 1 + i].revents != 0;
}

bool MeshBuilder::complete() const {
  return std::ranges::all_of(peers_, &Peer::joined);
}

Result<> MeshBuilder::read_rendezvous(Time deadline) {
  if (std::exchange(ask_again_, false)) TRY(exchange_.ask(deadline - clock_.now()));
  if (Result<> pumped = client_.pump(); !pumped) {
    return fail(Errc::closed, format("the launcher is lost: {}", pumped.error().message));
  }
  const std::optional<EndpointExchange::Endpoints> endpoints = TRY(exchange_.take());
  if (endpoints) TRY(take_endpoints(*endpoints));
  while (const auto notice = client_.next_notice())
    TRY(take_notice(*notice));
  return {};
}

Result<> MeshBuilder::take_endpoints(const EndpointExchange::Endpoints& endpoints) {
  for (Peer& peer : peers_) {
    const auto at = endpoints.find(endpoint_key(peer.task.id));
    peer.published = at != endpoints.end();
    if (peer.published && (peer.connects_later || dials(peer)))
      TRY(take_endpoint(peer, at->second));
  }
  // An incomplete list; its ranks are dialed while this task waits for the others.
  if (!std::ranges::all_of(peers_, &Peer::published)) ask_again_ = true;
  return {};
}

Result<> MeshBuilder::take_notice(const Notice& notice) {
  notices_.push_back(notice);
  const Peer* peer = find(notice.task);
  // A restart comes after a death, which has ended this.
  if (peer == nullptr || notice.kind == Notice::Kind::restarted) return {};
  // A peer that has joined here and ended well may have joined all others, and be done.
  if (notice.kind == Notice::Kind::left && peer->joined()) return {};
  return fail(Errc::peer_lost,
              format("{} ended before all ranks had joined: {}", describe(peer->task),
                     notice.kind == Notice::Kind::left ? "it left" : printable(notice.cause)),
              peer->task.rank);
}

Result<> MeshBuilder::take_endpoint(Peer& peer, ByteSpan value) {
  PeerEndpoint endpoint = TRY(PeerEndpoint::decode(value));
  if (peer.endpoint && *peer.endpoint == endpoint) return {};
  peer.dialing.reset();
  peer.dial_at = {};
  peer.endpoint = std::make_unique<const PeerEndpoint>(std::move(endpoint));
  if (peer.endpoint->transport != options_.transport) {
    return fail(Errc::input,
                format("{} has the transport {}, and this rank {}; give all ranks the same "
                       "transport",
                       describe(peer.task), transport_name(peer.endpoint->transport),
                       transport_name(options_.transport)),
                peer.task.rank);
  }
  const bool listens = peer.local() ? !peer.endpoint->local.empty() : !peer.endpoint->tcp.empty();
  if (listens) return {};
  return fail(Errc::input, format("{} does not listen for {}; give all ranks the same transport",
                                  describe(peer.task), peer.local() ? "shared memory" : "TCP"));
}

Result<> MeshBuilder::advance_dialed(Time now) {
  for (Peer& peer : peers_) {
    if (peer.joined() || !peer.endpoint) continue;
    TRY(start_dialing(peer, now));
    if (!peer.dialing) continue;
    const bool late = now >= peer.dialing->deadline();
    if (!peer.ready && !late) continue;
    Result<> advanced = peer.dialing->advance();
    // A peer that has the proof may regard the connection as complete, so this rank waits for it.
    if (advanced && late && !peer.dialing->done() && !peer.dialing->committed()) {
      advanced = fail(Errc::timeout, "no answer to the handshake");
    }
    if (!advanced) {
      TRY(dial_failed(peer, std::move(advanced).error(), now));
    } else if (peer.dialing->done()) {
      peer.connection = std::make_unique<AuthenticatedConnection>(peer.dialing->take());
      peer.dialing.reset();
    }
  }
  return {};
}

Result<> MeshBuilder::start_dialing(Peer& peer, Time now) {
  if (peer.dialing || now < peer.dial_at) return {};
  Result<std::unique_ptr<PeerHandshake>> dialed = dial(peer, now);
  if (!dialed) return dial_failed(peer, std::move(dialed).error(), now);
  peer.dialing = *std::move(dialed);
  peer.ready = true;
  return {};
}

Result<std::unique_ptr<PeerHandshake>> MeshBuilder::dial(const Peer& peer, Time now) {
  PeerHandshake::Options options{
      .claim = options_.claim, .deadline = now + dial_timeout(peer), .local = peer.local()};
  if (const auto& tcp = peer.endpoint->tcp; !peer.local()) {
    Fd socket = TRY(start_connect(tcp[peer.failures % tcp.size()]));
    tune(socket.get(), peer);
    return PeerHandshake::dial(std::move(socket), peer.task.id, std::move(options));
  }
  Fd socket = TRY(connect_local(peer.endpoint->local));
  TRY(require_same_user(socket.get()));
  options.passed_fds = locals_.passed_fds();
  options.passed_fds_expected = LocalGroup::passed_fds_expected(peer.slot);
  return PeerHandshake::dial(std::move(socket), peer.task.id, std::move(options));
}

void MeshBuilder::tune(int fd, const Peer& peer) const {
  tune_link(fd, peer.task.agent == client_.self().agent, options_.dead_after);
}

/// How long one attempt may take. Some of a peer's several addresses may be unreachable, and a
/// network that drops packets shows this by silence alone. So each address gets a short time, which
/// doubles every round.
Duration MeshBuilder::dial_timeout(const Peer& peer) const {
  const size_t addresses = peer.endpoint->tcp.size();
  if (peer.local() || addresses < 2) return options_.handshake_timeout;
  const size_t round = std::min<size_t>(peer.failures / addresses, 8);
  return std::min(options_.handshake_timeout, first_dial_timeout * (1 << round));
}

Result<> MeshBuilder::dial_failed(Peer& peer, Error error, Time now) {
  peer.dialing.reset();
  peer.failure = error.message;
  ++peer.failures;
  peer.dial_at = now + dial_again_after;
  // The peer may have started again elsewhere. Few requests are enough to notice this in time.
  if (std::has_single_bit(peer.failures)) ask_again_ = true;
  // A peer that is busy, slow or gone may answer later, or the rendezvous reports its end. A
  // refusal that the peer sends is final.
  const bool passing = error.code == Errc::closed || error.code == Errc::timeout ||
                       error.code == Errc::unreachable || error.code == Errc::os;
  if (passing) return {};
  error.blamed_rank = peer.task.rank;
  return tl::unexpected(std::move(error).during("cannot join " + describe(peer.task)));
}

Result<> MeshBuilder::admit(PeerHandshake& handshake) {
  Peer* peer = find(handshake.peer());
  if (peer == nullptr || (dials(*peer) && !peer->connects_later)) {
    handshake.refuse_peer(format("{} expects no connection from {}", client_.self().id.text(),
                                 printable(handshake.peer().text())));
    return fail(Errc::refused, "unexpected peer");
  }
  if (peer->local() != handshake.local()) {
    handshake.refuse_peer("the transports differ; give all ranks the same transport");
    return fail(Errc::refused, "unexpected transport");
  }
  if (!peer->local()) {
    tune(handshake.fd(), *peer);
    return handshake.accept_peer({}, 0);
  }
  return handshake.accept_peer(locals_.passed_fds(), LocalGroup::passed_fds_expected(peer->slot));
}

tl::unexpected<Error> MeshBuilder::missing() {
  if (!exchange_.published()) {
    return fail(Errc::timeout,
                "cannot publish this rank's addresses: the rendezvous does not answer");
  }
  // A rank without endpoint holds up all others, which may have had no time to connect yet.
  const bool some_unpublished = std::ranges::any_of(
      peers_, [](const Peer& peer) { return !peer.joined() && !peer.published; });
  std::vector<std::string> names;
  size_t count = 0;
  int blamed_rank = -1;
  for (const Peer& peer : peers_) {
    const bool waits = some_unpublished && peer.published && peer.failure.empty();
    if (peer.joined() || waits) continue;
    if (count == 0) blamed_rank = peer.task.rank;
    if (++count > missing_named_max) continue;
    const std::string why = peer.failure.empty() ? "" : ": " + peer.failure;
    names.push_back(describe(peer.task) + why);
  }
  if (count > names.size()) names.push_back(format("{} more", count - names.size()));
  return fail(Errc::timeout,
              format("not all ranks have joined in time; missing: {}", join(names, ", ")),
              blamed_rank);
}

MeshBuilder::Peer* MeshBuilder::find(const TaskId& id) {
  const auto at = std::ranges::find_if(peers_, [&](const Peer& p) { return p.task.id == id; });
  return at == peers_.end() ? nullptr : &*at;
}

}  // namespace dt
