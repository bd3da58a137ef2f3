#include "launcher/network/probe.h"

#include "base/format.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

namespace dt {

namespace {

constexpr size_t nonce_bytes = 16;
/// The other addresses of the targets have this much time after each target is reached.
constexpr Duration moment = milliseconds(100);
/// The time for the launcher's addresses. Short: each job of a launcher behind a firewall that
/// drops packets waits for all of it.
constexpr Duration launcher_patience = milliseconds(500);

Digest proof_of(const Token& token, uint32_t number, ByteSpan nonce) {
  const Bytes machine = Writer().number(number).take();
  return hmac_sha256(token.secret, {as_bytes("dtrain probe"), machine, nonce});
}

}  // namespace

Result<std::unique_ptr<ProbeListener>> ProbeListener::open(Loop& loop, const ListenOptions& options,
                                                           const Token& token, uint32_t number,
                                                           Limits limits) {
  std::unique_ptr<ProbeListener> opened(new ProbeListener(loop, token, number, limits));
  ProbeListener& self = *opened;
  for (const auto& [interface, ip] : options.addresses) {
    auto listening =
        options.held_port == 0 ? listen_on({ip, 0}) : listen_on_held({ip, options.held_port});
    if (!listening) continue;
    const int fd = listening->get();
    const auto address = local_address(fd);
    if (!address) continue;
    Listener& listener = self.listeners_.emplace_back();
    listener.fd = *std::move(listening);
    listener.watch =
        TRY(loop.watch(fd, EPOLLIN, [&self, &listener](uint32_t) { self.accept(listener); }));
    self.endpoints_.push_back({*address, interface});
  }
  if (self.endpoints_.empty()) return fail(Errc::os, "cannot listen at any of its addresses");
  return opened;
}

void ProbeListener::accept(Listener& listener) {
  for (int i = 0; i < accepts_per_round; ++i) {
    Result<Fd> connection = accept_one(listener.fd.get());
    if (!connection) {
      // Out of descriptors: a retry at once would only spin.
      listener.watch.set_events(0);
      listener.resume = loop_.after(out_of_descriptors_pause,
                                    [&listener] { listener.watch.set_events(EPOLLIN); });
      return;
    }
    if (!*connection) return;
    add(*std::move(connection));
  }
}

void ProbeListener::add(Fd connection) {
  if (callers_.size() >= limits_.callers_max) drop(callers_.begin()->first);
  const uint64_t caller = next_caller_++;
  auto stream =
      Stream::open(loop_, std::move(connection), Fd(),
                   {.on_bytes = [this, caller](ByteSpan bytes) -> size_t {
                      if (bytes.size() < nonce_bytes) return 0;
                      const Digest proof = proof_of(token_, number_, bytes.first(nonce_bytes));
                      Stream& answered = *callers_.at(caller).stream;
                      answered.write(proof);
                      answered.close_after_sending();
                      return bytes.size();
                    },
                    .on_end = [this, caller](const std::optional<Error>&) { drop(caller); },
                    .on_drained = {}});
  if (!stream) return;
  callers_.emplace(caller, Caller{*std::move(stream),
                                  loop_.after(limits_.patience, [this, caller] { drop(caller); })});
}

void ProbeListener::drop(uint64_t caller) {
  callers_.erase(caller);
}

/// connecting ─▶ nonce sent ─▶ over, and good if the proof is right
struct ProbeDialer::Call {
  size_t target = 0;
  Address address;
  Fd connecting;
  Watch watch;
  std::unique_ptr<Stream> stream;
  std::array<std::byte, nonce_bytes> nonce;
  bool good = false;
  bool over = false;
};

ProbeDialer::ProbeDialer(Loop& loop, const Token& token, std::vector<ProbeTarget> targets,
                         Time deadline, std::function<void(Reached)> on_done)
    : loop_(loop), token_(token), targets_(std::move(targets)), on_done_(std::move(on_done)) {
  for (size_t target = 0; target < targets_.size(); ++target) {
    for (const Address& address : targets_[target].addresses) {
      calls_.push_back(std::make_unique<Call>());
      Call& call = *calls_.back();
      call.target = target;
      call.address = address;
      start(call);
    }
  }
  deadline_ = loop_.at(deadline, [this] { finish(); });
  launcher_patience_ = loop_.after(launcher_patience, [this] { check_done(); });
  // Not from the constructor: the owner has no pointer to this object yet.
  last_moment_ = loop_.after(Duration::zero(), [this] { check_done(); });
}

ProbeDialer::~ProbeDialer() = default;

void ProbeDialer::start(Call& call) {
  auto connecting = start_connect(call.address);
  const bool ready = connecting && random_bytes(call.nonce);
  if (ready) {
    call.connecting = *std::move(connecting);
    auto watch =
        loop_.watch(call.connecting.get(), EPOLLOUT, [this, &call](uint32_t) { connected(call); });
    if (watch) call.watch = *std::move(watch);
  }
  call.over = !call.watch;
}

void ProbeDialer::connected(Call& call) {
  call.watch = Watch();
  if (!connect_result(call.connecting.get(), call.address)) {
    end(call);
    return;
  }
  auto stream = Stream::open(
      loop_, std::move(call.connecting), Fd(),
      {.on_bytes = [this, &call](ByteSpan bytes) -> size_t {
         if (bytes.size() < sizeof(Digest)) return 0;
         const Digest wanted = proof_of(token_, targets_[call.target].number, call.nonce);
         call.good = equal_in_constant_time(bytes.first(sizeof(Digest)), wanted);
         end(call);
         return 0;
       },
       .on_end = [this, &call](const std::optional<Error>&) { end(call); },
       .on_drained = {}});
  if (!stream) {
    end(call);
    return;
  }
  call.stream = *std::move(stream);
  call.stream->write(call.nonce);
}

void ProbeDialer::end(Call& call) {
  close(call);
  check_done();
}

void ProbeDialer::close(Call& call) {
  call.over = true;
  call.watch = Watch();
  call.connecting.reset();
  call.stream.reset();
}

void ProbeDialer::check_done() {
  if (done_) return;
  if (std::ranges::all_of(calls_, [](const auto& call) { return call->over; })) {
    finish();
    return;
  }
  const auto reached = [this](size_t target) {
    return std::ranges::any_of(
        calls_, [target](const auto& call) { return call->target == target && call->good; });
  };
  for (size_t target = 0; target < targets_.size(); ++target) {
    const bool timed_out = targets_[target].number == launcher_number && !launcher_patience_;
    if (!reached(target) && !timed_out) return;
  }
  if (!hurrying_) last_moment_ = loop_.after(moment, [this] { finish(); });
  hurrying_ = true;
}

void ProbeDialer::finish() {
  if (std::exchange(done_, true)) return;
  Reached reached;
  for (const ProbeTarget& target : targets_)
    reached.push_back({.number = target.number, .addresses = {}});
  for (const auto& call : calls_) {
    // Closed now: another listener may use the port next.
    if (!call->over) close(*call);
    if (call->good) reached[call->target].addresses.push_back(call->address);
  }
  const auto on_done = std::move(on_done_);
  on_done(std::move(reached));
}

}  // namespace dt
