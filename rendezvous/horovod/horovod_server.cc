#include "rendezvous/horovod/horovod_server.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace dt {

namespace {

constexpr size_t read_bytes = size_t{64} << 10;
/// The limit of unsent answers: a connection gets more only after it has read these.
constexpr size_t answers_bytes_max = size_t{64} << 10;
/// The limit of reads per turn, so that one connection cannot occupy the loop.
constexpr int reads_per_turn = 16;

}  // namespace

HorovodServer::HorovodServer(Loop& loop, Options options, Log& log)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      store_(options_.limits),
      deadlines_(loop_, options_.timeout, [this](uint64_t id) { drop(id); }) {
}

bool HorovodServer::begins_with(std::byte first) {
  constexpr std::string_view initials = "GPD";  // GET, PUT, DELETE
  return initials.find(static_cast<char>(first)) != std::string_view::npos;
}

Result<> HorovodServer::take(Fd connection, ByteSpan begun, Origin origin) {
  if (origin == Origin::dialed) {
    const Address peer = TRY(peer_address(connection.get()));
    if (!options_.sources.contains(peer.ip)) {
      return fail(Errc::refused, format("refused what may be a Horovod worker from {}, an address "
                                        "that no host of this job has named",
                                        peer.ip));
    }
  }
  if (connections_.size() >= options_.connections_max) drop(connections_.begin()->first);
  const uint64_t id = next_id_++;
  Watch watch = TRY(loop_.watch(connection.get(), EPOLLIN, [this, id](uint32_t) { ready(id); }));
  const auto [at, fresh] =
      connections_.emplace(id, Connection{.fd = std::move(connection),
                                          .watch = std::move(watch),
                                          .in = Bytes(begun.begin(), begun.end())});
  held_bytes_ += at->second.in.size();
  deadlines_.start(id);
  ready(id);
  return {};
}

void HorovodServer::drop(uint64_t id) {
  const auto at = connections_.find(id);
  held_bytes_ -= at->second.held();
  connections_.erase(at);
  deadlines_.end(id);
}

void HorovodServer::ready(uint64_t id) {
  Connection& connection = connections_.at(id);
  const uint64_t requests = store_.requests();
  held_bytes_ -= connection.held();
  const TurnResult result = work(connection);
  held_bytes_ += connection.held();
  if (result == TurnResult::over || held_bytes_ > options_.limits.bytes) return drop(id);
  // The requests of an unfinished turn may be in the buffer already, so EPOLLIN would not come. The
  // socket is writable, and EPOLLOUT starts the next turn.
  const bool only_reads = result == TurnResult::waits && connection.out.empty();
  connection.watch.set_events(only_reads ? EPOLLIN : EPOLLOUT);
  if (store_.requests() > requests) deadlines_.start(id);
  log_if_full();
}

/// Reads, answers and sends as much as possible, within the limits of one turn.
HorovodServer::TurnResult HorovodServer::work(Connection& connection) {
  size_t answered = 0;
  for (int reads = 0; reads < reads_per_turn && answered < options_.turn_bytes;) {
    if (!send_answers(connection)) return TurnResult::over;
    if (!connection.out.empty()) return TurnResult::waits;  // until the socket takes them
    if (connection.closing) return TurnResult::over;
    const HorovodStore::Served served = store_.serve(
        connection.in, connection.out, std::min(answers_bytes_max, options_.turn_bytes - answered));
    answered += connection.out.size();
    connection.in.erase(connection.in.begin(),
                        connection.in.begin() + static_cast<ptrdiff_t>(served.used));
    connection.closing = served.close;
    if (!connection.out.empty()) continue;
    ++reads;
    const Reading reading = read_some(connection);
    if (reading == Reading::over) return TurnResult::over;
    if (reading == Reading::blocked) return TurnResult::waits;
  }
  return TurnResult::unfinished;
}

HorovodServer::Reading HorovodServer::read_some(Connection& connection) {
  std::array<std::byte, read_bytes> buffer;
  const ssize_t n = ::recv(connection.fd.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Reading::blocked;
  if (n <= 0) return Reading::over;
  connection.in.insert(connection.in.end(), buffer.begin(), buffer.begin() + n);
  return Reading::more;
}

/// Sends as much as possible; false when the peer is gone.
bool HorovodServer::send_answers(Connection& connection) {
  Bytes& out = connection.out;
  while (!out.empty()) {
    const ssize_t n = ::send(connection.fd.get(), out.data(), out.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    out.erase(out.begin(), out.begin() + n);
  }
  return true;
}

/// Logs a full store once, because the refused worker reports little of it.
void HorovodServer::log_if_full() {
  if (!store_.was_full() || std::exchange(full_logged_, true)) return;
  log_.warn(
      "rendezvous: Horovod's workers want more than the {} keys and {} bytes that they get; "
      "some will fail to connect",
      options_.limits.keys, options_.limits.bytes);
}

}  // namespace dt
