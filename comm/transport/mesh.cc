#include "comm/transport/mesh.h"

#include "base/running_time_clock.h"
#include "comm/transport/doorbell.h"
#include "comm/transport/tcp_link.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <map>

namespace dt {

namespace {

// The tags of epoll's events; a local peer's tag is its index in locals_. A TCP link's tag is
// tag_tcp with its index in sockets_.
constexpr uint64_t tag_wake = UINT64_MAX;
constexpr uint64_t tag_doorbell = UINT64_MAX - 1;
constexpr uint64_t tag_rendezvous = UINT64_MAX - 2;
constexpr uint64_t tag_listener = UINT64_MAX - 3;
constexpr uint64_t tag_timer = UINT64_MAX - 4;
constexpr uint64_t tag_tcp = uint64_t{1} << 32;

// Edge-triggered, so that a socket that has ended does not end every wait at once. The same holds
// for a socket that the engine does not read for now.
constexpr uint32_t socket_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | uint32_t{EPOLLET};
constexpr Duration drain_poll_every = milliseconds(20);

enum class Input : uint8_t { open, ended, broken };

/// Reads and discards all bytes that have arrived.
Input discard_input(int fd) {
  std::array<std::byte, 4096> scratch;
  while (true) {
    const ssize_t n = ::recv(fd, scratch.data(), scratch.size(), MSG_DONTWAIT);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    if (n == 0) return Input::ended;
    return errno == EAGAIN ? Input::open : Input::broken;
  }
}

/// True when the peer has reset the connection. It will acknowledge nothing more.
bool is_reset(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_CLOSE;
}

}  // namespace

Result<std::unique_ptr<Mesh>> Mesh::join(RendezvousClient& client, const Options& options,
                                         Time deadline) {
  MeshBuilder builder(client, options);
  TRY(builder.run(deadline));
  std::unique_ptr<Mesh> mesh(new Mesh);
  TRY(mesh->build(builder, client.self(), options));
  mesh->rendezvous_fd_ = client.fd();
  TRY(mesh->watch(client.fd(), socket_events, tag_rendezvous));
  return mesh;
}

Result<> Mesh::build(MeshBuilder& builder, const TaskEntry& self, const Options& options) {
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail_errno("cannot make an epoll descriptor");
  wake_ = TRY(make_doorbell());
  TRY(watch(wake_.get(), EPOLLIN, tag_wake));
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return fail_errno("cannot make a timer descriptor");
  // Edge-triggered, so that an end of the timer is never read.
  TRY(watch(timer_.get(), EPOLLIN | uint32_t{EPOLLET}, tag_timer));
  LocalGroup& locals = builder.locals();
  if (!locals.empty()) {
    doorbell_ = TRY(duplicate(locals.doorbell().get()));
    TRY(watch(doorbell_.get(), EPOLLIN, tag_doorbell));
  }
  // Slot 0 comes first: its descriptors include the memory that all other local links need.
  std::ranges::sort(builder.peers(), {}, &MeshBuilder::Peer::slot);
  TRY(add_connector(builder,
                    {.claim = options.claim, .self = self, .dead_after = options.dead_after}));
  for (MeshBuilder::Peer& peer : builder.peers())
    TRY(peer.local() ? add_local(peer, locals) : add_tcp(peer));
  segment_ = locals.segment();
  if (segment_) asleep_ = &segment_->asleep(locals.own_slot());
  if (segment_) add_areas(self, locals);
  if (segment_) add_pool(locals);
  for (size_t i = 0; i < locals_.size(); ++i)
    TRY(watch(locals_[i].shared->socket.get(), EPOLLIN | EPOLLRDHUP | uint32_t{EPOLLET}, i));
  notices_ = builder.notices();
  return {};
}

void Mesh::add_areas(const TaskEntry& self, const LocalGroup& locals) {
  const SharedHeap::File file = segment_->heap_file();
  if (file.part_bytes > 0) heap_ = std::make_shared<SharedHeap>(segment_, file, locals.own_slot());
  std::vector<std::shared_ptr<ShmPeer>> others;
  for (const LocalPeer& peer : locals_)
    others.push_back(peer.shared);
  // The slots of the members, in order of their ranks.
  std::map<int, int> slots = {{self.rank, locals.own_slot()}};
  for (const Peer& peer : peers_)
    if (const int slot = locals.slot_of(peer.task.id); slot >= 0) slots[peer.task.rank] = slot;
  const auto make = [&](ShmSegment::Area area) {
    const std::vector<std::byte*> by_slot =
        SharedArea::parts_in(segment_->area(area).data(), static_cast<int>(slots.size()));
    SharedArea::Options options{
        .owner = segment_, .heap = heap_, .clock = Clock::now, .wake = [others] {
          for (const auto& other : others)
            other->wake();
        }};
    options.self = static_cast<int>(std::distance(slots.begin(), slots.find(self.rank)));
    for (const auto& [rank, slot] : slots)
      options.parts.push_back(by_slot[static_cast<size_t>(slot)]);
    return std::make_shared<SharedArea>(std::move(options));
  };
  area_ = make(ShmSegment::Area::unnamed);
  named_area_ = make(ShmSegment::Area::named);
}

void Mesh::add_pool(const LocalGroup& locals) {
  if (segment_->pool() == nullptr) return;
  std::map<int, std::shared_ptr<ShmPeer>> peers;
  size_t local = 0;
  for (const Peer& peer : peers_)
    if (const int slot = locals.slot_of(peer.task.id); slot >= 0)
      peers[slot] = locals_[local++].shared;
  pool_ = std::make_shared<AreaPool>(AreaPool::Options{
      .owner = segment_,
      .tickets = segment_->tickets(),
      .memory = segment_->pool(),
      .own_slot = locals.own_slot(),
      .heap = heap_,
      .clock = Clock::now,
      .back = [segment = segment_](size_t begin,
                                   size_t bytes) { return segment->back_pool(begin, bytes); },
      .wake = [peers](int slot) { peers.at(slot)->wake(); }});
}

Result<> Mesh::add_local(MeshBuilder::Peer& peer, LocalGroup& locals) {
  auto shared = std::make_shared<ShmPeer>();
  shared->doorbell = TRY(locals.take_passed_fds(peer.slot, std::move(peer.connection->passed_fds)));
  const auto& segment = locals.segment();
  ShmRings rings = ShmSegment::rings(segment, {locals.own_slot(), peer.slot});
  shared->socket = std::move(peer.connection->socket);
  shared->asleep = &segment->asleep(peer.slot);
  locals_.push_back({.shared = shared, .in = rings.in, .out = rings.out});
  peers_.push_back({peer.task, std::make_unique<ShmLink>(std::move(rings), shared)});
  return {};
}

Result<> Mesh::add_connector(MeshBuilder& builder, LazyConnector::Options options) {
  const auto later =
      std::ranges::count_if(builder.peers(), [](const auto& peer) { return !peer.connection; });
  if (later == 0) return {};
  options.peers = static_cast<size_t>(later);
  options.wake = TRY(duplicate(wake_.get()));
  PeerListener listener = builder.take_listener();
  listener.close_local();
  connector_ = std::make_unique<LazyConnector>(std::move(options), std::move(listener));
  return watch_listener();
}

Result<> Mesh::add_tcp(MeshBuilder::Peer& peer) {
  const size_t number = sockets_.size();
  if (peer.connection) {
    AuthenticatedConnection& connection = *peer.connection;
    sockets_.push_back(
        std::make_shared<TcpSocket>(std::move(connection.socket), connection.handshake.session()));
    TRY(watch(sockets_.back()->get(), socket_events, tag_tcp | number));
  } else {
    sockets_.push_back(connector_->add(number, peer.task, *peer.endpoint));
  }
  peers_.push_back({peer.task, std::make_unique<TcpLink>(sockets_.back())});
  return {};
}

/// Watches the listener, but not while it cannot accept: its connections would end every wait. Once
/// all links are connected, those of strangers would only cost time. The sockets stay: a peer that
/// has left and joins again must find one until this rank leaves, too.
Result<> Mesh::watch_listener() {
  const bool wanted = !connector_->listener().paused() && !connector_->complete();
  if (listening_ == wanted) return {};
  listening_ = wanted;
  for (const Fd& listener : connector_->listener().tcp()) {
    if (listening_) TRY(watch(listener.get(), EPOLLIN, tag_listener));
    if (!listening_) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
  }
  return {};
}

Result<> Mesh::watch(int fd, uint32_t events, uint64_t tag) const {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) {
    return fail_errno("cannot watch a descriptor");
  }
  return {};
}

std::vector<pid_t> Mesh::local_processes() const {
  std::vector<pid_t> processes;
  for (const LocalPeer& peer : locals_) {
    ucred credentials = {};
    socklen_t size = sizeof credentials;
    ::getsockopt(peer.shared->socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    processes.push_back(credentials.pid);
  }
  return processes;
}

Result<bool> Mesh::wait(Time deadline) {
  if (connector_ && connector_->asked()) {
    TRY(advance_connections());
    deadline = Clock::now();  // a link may have changed
  }
  std::array<epoll_event, 64> events;
  const int n = TRY(wait_for_events(events, deadline));
  bool rendezvous = false;
  bool dialed = false;
  for (const auto& [bits, data] : std::span(events).first(static_cast<size_t>(n))) {
    const uint64_t tag = data.u64;
    if (tag == tag_wake) silence(wake_.get());
    if (tag == tag_doorbell) silence(doorbell_.get());
    if (tag == tag_rendezvous) rendezvous = true;
    if (tag == tag_listener) dialed = true;
    if (tag < locals_.size()) local_socket_event(locals_[tag]);
    if (tag >= tag_tcp && tag < tag_tcp + sockets_.size()) socket_event(tag, bits);
  }
  if (dialed && connector_) TRY(advance_connections());
  return rendezvous;
}

/// Returns the number of events. Connections that are being made are advanced here.
Result<int> Mesh::wait_for_events(std::span<epoll_event> events, Time deadline) {
  const bool connecting = connector_ && connector_->active();
  if (connecting) deadline = std::min(deadline, clock_.wake_up_at(connector_->next_deadline()));
  const Time now = Clock::now();
  int timeout_ms = poll_ms(now, deadline);
  if (timeout_ms > 0 && fall_asleep()) return 0;
  const bool sleeps = timeout_ms > 0;
  if (sleeps && deadline - now < milliseconds(1)) set_timer(deadline - now);
  bool news = false;
  if (connecting) {
    polled_.assign(1, {.fd = epoll_.get(), .events = POLLIN, .revents = 0});
    connector_->collect_fds(polled_);
    const int polled = poll(polled_.data(), polled_.size(), timeout_ms);
    if (polled >= 0) news = connector_->take_events(std::span(polled_).subspan(1));
    timeout_ms = 0;
  }
  const int n =
      epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  const int error = errno;
  // Not in a wait of no length: peers read this cache line often.
  if (asleep_ != nullptr && sleeps) asleep_->store(0, std::memory_order_relaxed);
  if (n < 0 && error != EINTR) return fail_errno("cannot wait for the other ranks", error);
  if (news || (connecting && clock_.now() >= connector_->next_deadline()))
    TRY(advance_connections());
  return std::max(n, 0);
}

/// Ends a wait sooner than epoll_wait() does, which counts whole milliseconds. If anything else
/// ends that wait, the timer ends a later one.
void Mesh::set_timer(Duration shorter_than_ms) const {
  const itimerspec once = {.it_interval = {}, .it_value = {.tv_nsec = shorter_than_ms.count()}};
  timerfd_settime(timer_.get(), 0, &once, nullptr);
}

Result<> Mesh::advance_connections() {
  const std::vector<size_t> opened = TRY(connector_->advance(clock_.now()));
  for (const size_t number : opened)
    TRY(watch(sockets_[number]->get(), socket_events, tag_tcp | number));
  return watch_listener();
}

/// Sets this task's sleep flag, then checks the shared memory once more. Returns true when another
/// task has changed it and this one must not sleep. The order matters, see shm_ring.h.
bool Mesh::fall_asleep() {
  if (asleep_ == nullptr) return false;
  asleep_->store(1, std::memory_order_seq_cst);
  if (!memory_changed()) return false;
  asleep_->store(0, std::memory_order_relaxed);
  return true;
}

bool Mesh::memory_changed() {
  uint64_t published =
      area_ ? area_->published_by_others() + named_area_->published_by_others() : 0;
  if (pool_) published += pool_->published_by_others();
  bool changed = published != seen_published_;
  seen_published_ = published;
  for (LocalPeer& peer : locals_) {
    const uint64_t written = peer.in->written.load(std::memory_order_seq_cst);
    const uint64_t read = peer.out->read.load(std::memory_order_seq_cst);
    changed = changed || written != peer.seen_written || read != peer.seen_read;
    peer.seen_written = written;
    peer.seen_read = read;
  }
  return changed;
}

void Mesh::local_socket_event(LocalPeer& peer) const {
  // No data follows the descriptors on this socket; its end means that the process has ended.
  if (discard_input(peer.shared->socket.get()) == Input::open) return;
  peer.shared->closed.store(true, std::memory_order_release);
}

void Mesh::socket_event(uint64_t tag, uint32_t events) const {
  const bool broken = (events & (EPOLLHUP | EPOLLERR)) != 0;
  sockets_[tag - tag_tcp]->report({.readable = (events & EPOLLIN) != 0,
                                   .writable = broken || (events & EPOLLOUT) != 0,
                                   .ended = broken || (events & EPOLLRDHUP) != 0});
}

void Mesh::wake() const {
  ring(wake_.get());
}

void Mesh::forget_rendezvous() {
  if (rendezvous_fd_ < 0) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, rendezvous_fd_, nullptr);
  rendezvous_fd_ = -1;
}

void Mesh::drain(Time deadline) {
  forget_rendezvous();
  connector_.reset();
  for (const auto& socket : sockets_)
    if (socket->get() >= 0) ::shutdown(socket->get(), SHUT_WR);
  // Closing is not enough: a child that the program has forked may hold a copy.
  for (const LocalPeer& peer : locals_)
    ::shutdown(peer.shared->socket.get(), SHUT_WR);
  // epoll reports when the peer has acknowledged our FIN. The check every drain_poll_every covers
  // an event that does not come.
  for (Deadline end(deadline); !drained() && !end.passed();) {
    if (!wait(std::min(end.wake_up_at(), Clock::now() + drain_poll_every))) return;
  }
}

bool Mesh::drained() {
  return std::ranges::all_of(sockets_, [](const std::shared_ptr<TcpSocket>& socket) {
    if (socket->get() < 0) return true;
    int unacknowledged = 0;
    // Unread bytes would turn our close into a reset, which discards what we sent.
    if (discard_input(socket->get()) == Input::broken || is_reset(socket->get())) return true;
    return ioctl(socket->get(), SIOCOUTQ, &unacknowledged) < 0 || unacknowledged == 0;
  });
}

}  // namespace dt
