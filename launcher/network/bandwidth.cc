#include "launcher/network/bandwidth.h"

#include "base/bytes.h"
#include "base/format.h"
#include "launcher/network/small_send.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace dt {

namespace {

/// The shortest of these round trips counts: others may have waited for a busy CPU.
constexpr int echo_count = 8;
constexpr size_t chunk_bytes = size_t{256} << 10;
/// A client is dropped if its echoes together take longer, or its close after the result.
constexpr Duration caller_patience = seconds(5);

}  // namespace

struct BandwidthServer::Caller {
  Fd fd;
  Watch watch;
  Timer timer;  ///< drops a slow client; during the transfer, ends that
  int echoes_left = echo_count;
  Time began;
  uint64_t bytes = 0;
  bool result_sent = false;
};

BandwidthServer::BandwidthServer(Loop& loop, BandwidthBounds bounds)
    : loop_(loop),
      bounds_(bounds),
      quiet_(Log::Level::quiet, [](std::string_view) {}),
      buffer_(chunk_bytes) {
}

BandwidthServer::~BandwidthServer() = default;

std::unique_ptr<BandwidthServer> BandwidthServer::open(Loop& loop,
                                                       const std::vector<Address>& where,
                                                       const Claim& claim, BandwidthBounds bounds) {
  std::unique_ptr<BandwidthServer> server(new BandwidthServer(loop, bounds));
  BandwidthServer& self = *server;
  for (const Address& address : where) {
    auto acceptor = Acceptor::listen(loop, {.address = address, .claim = claim}, self.quiet_,
                                     [&self](Fd connection, Handshake handshake) {
                                       self.add(std::move(connection), std::move(handshake));
                                     });
    if (acceptor) self.acceptors_.push_back(*std::move(acceptor));
  }
  return server;
}

std::vector<Address> BandwidthServer::addresses() const {
  std::vector<Address> all;
  for (const auto& acceptor : acceptors_)
    all.push_back(acceptor->address());
  return all;
}

void BandwidthServer::add(Fd connection, Handshake handshake) {
  handshake.accept_peer();
  if (!send_small(connection.get(), handshake.take_output())) return;
  Caller& caller = callers_.emplace_back();
  caller.fd = std::move(connection);
  caller.timer = loop_.after(caller_patience, [this, &caller] { drop(caller); });
  auto watch =
      loop_.watch(caller.fd.get(), EPOLLIN, [this, &caller](uint32_t) { readable(caller); });
  if (!watch) return drop(caller);
  caller.watch = *std::move(watch);
}

void BandwidthServer::readable(Caller& caller) {
  const auto got = read_ready(caller.fd.get(), buffer_);
  if (!got) return drop(caller);
  if (*got == 0 || caller.result_sent) return;
  if (caller.echoes_left > 0) {
    --caller.echoes_left;
    if (!send_small(caller.fd.get(), ByteSpan(buffer_).first(1))) drop(caller);
    return;
  }
  if (caller.bytes == 0) {
    caller.began = Clock::now();
    caller.timer = loop_.after(bounds_.time_max, [this, &caller] { send_result(caller); });
  }
  caller.bytes += *got;
  if (caller.bytes >= bounds_.bytes_max) send_result(caller);
}

void BandwidthServer::send_result(Caller& caller) {
  const Duration elapsed = Clock::now() - caller.began;
  const Bytes result =
      Writer().number(uint64_t{caller.bytes}).number(int64_t{elapsed.count()}).take();
  caller.result_sent = true;
  // Bytes that still arrive are not read; the client closes the connection after the result.
  caller.watch.set_events(0);
  if (!send_small(caller.fd.get(), result)) return drop(caller);
  caller.timer = loop_.after(caller_patience, [this, &caller] { drop(caller); });
}

void BandwidthServer::drop(const Caller& caller) {
  callers_.remove_if([&caller](const Caller& one) { return &one == &caller; });
}

BandwidthClient::BandwidthClient(Loop& loop, const HandshakeDial::Target& to, const Claim& claim,
                                 std::function<void(Result<Speed>)> on_done)
    : loop_(loop), on_done_(std::move(on_done)) {
  dial_ = std::make_unique<HandshakeDial>(
      loop, to, claim, [this, deadline = to.deadline](Result<Dialed> dialed) {
        const auto started = dialed ? start(std::move(dialed->connection), deadline)
                                    : tl::unexpected(std::move(dialed).error());
        if (!started) end(tl::unexpected(started.error()));
      });
}

Result<> BandwidthClient::start(Fd connection, Time deadline) {
  fd_ = std::move(connection);
  watch_ = TRY(loop_.watch(fd_.get(), EPOLLIN, [this](uint32_t events) { ready(events); }));
  timer_ = loop_.at(deadline, [this] { end(fail(Errc::timeout, "it took too long")); });
  return send_echo();
}

void BandwidthClient::ready(uint32_t events) {
  auto stepped = step(events);
  if (!stepped) return end(tl::unexpected(std::move(stepped).error()));
  if (result_received_ == result_.size()) end(speed_);
}

Result<> BandwidthClient::step(uint32_t events) {
  if (echoes_ < echo_count) return receive_echo();
  return (events & EPOLLIN) != 0 ? receive_result() : send_zeros();
}

Result<> BandwidthClient::send_echo() {
  echo_sent_ = Clock::now();
  return send_small(fd_.get(), std::array{std::byte{0}});
}

Result<> BandwidthClient::receive_echo() {
  std::array<std::byte, 1> buffer;
  const size_t got = TRY(read_ready(fd_.get(), buffer));
  if (got == 0) return {};
  const Duration round_trip = Clock::now() - echo_sent_;
  speed_.round_trip = echoes_ == 0 ? round_trip : std::min(speed_.round_trip, round_trip);
  if (++echoes_ < echo_count) return send_echo();
  zeros_.resize(chunk_bytes);
  watch_.set_events(EPOLLIN | EPOLLOUT);
  return {};
}

Result<> BandwidthClient::send_zeros() {
  const ssize_t n = ::send(fd_.get(), zeros_.data(), zeros_.size(), MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN && errno != EINTR) return fail_errno("the connection broke");
  return {};
}

Result<> BandwidthClient::receive_result() {
  const size_t got = TRY(read_ready(fd_.get(), std::span(result_).subspan(result_received_)));
  result_received_ += got;
  if (result_received_ < result_.size()) return {};
  Reader reader(result_);
  speed_.bytes = reader.number<uint64_t>();
  speed_.elapsed = std::max(Duration(1), Duration(reader.number<int64_t>()));
  // Discards the unsent zeros when the socket is closed.
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return {};
}

void BandwidthClient::end(Result<Speed> result) {
  watch_ = Watch();
  timer_ = Timer();
  fd_.reset();
  const auto on_done = std::move(on_done_);
  on_done(std::move(result));
}

}  // namespace dt
