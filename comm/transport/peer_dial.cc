#include "comm/transport/peer_dial.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dt {

namespace {

constexpr Duration again_after = milliseconds(100);
// The limit of an attempt doubles from the first to the second of these. Another address may answer
// when one is unreachable or leads to another process. A queue that is full drops the packets of
// one attempt, and may have room at the next one.
constexpr Duration attempt_min = milliseconds(500);
constexpr Duration attempt_max = seconds(5);
/// When nobody listens at any address, the launcher has this time to report why.
constexpr Duration closed_max = seconds(2);
/// How often a first message is repeated that does not reach the peer's queue.
constexpr uint32_t repetitions_max = 3;

}  // namespace

PeerDial::PeerDial(Options options, Time now)
    : options_(std::move(options)), next_(now), answered_(now) {
}

Result<std::unique_ptr<AuthenticatedConnection>> PeerDial::advance(Time now, bool ready) {
  if (attempt_) {
    if (Result<> advanced = advance_attempt(now, ready); !advanced)
      abort_attempt(advanced.error(), now);
  } else if (now >= next_) {
    TRY(start(now));
  }
  if (attempt_ && attempt_->done())
    return std::make_unique<AuthenticatedConnection>(attempt_->take());
  if (attempt_ && (options_.same_host || !attempt_->connecting())) return nullptr;
  if (!has_failed(now)) return nullptr;
  return fail(Errc::timeout, format("cannot connect to {}: {}", address().text(), failure_));
}

bool PeerDial::has_failed(Time now) const {
  if (now - refused_.value_or(answered_) >= options_.dead_after) return true;
  return closed_ && now - *closed_ >= closed_max && closed_attempts_ >= options_.addresses.size();
}

/// Fails when this process may open no more descriptors. All other failures are those of the peer
/// or of the network, and may pass.
Result<> PeerDial::start(Time now) {
  silence_ = {};
  until_ = now + limit(attempt_max);
  next_ = std::min({until_, now + tcp_judged_every, answered_ + options_.dead_after});
  Result<Fd> socket = start_connect(address());
  if (!socket) {
    TRY(ensure_open_files(1, "the links to other ranks"));
    abort_attempt(socket.error(), now);
    return {};
  }
  tune_link(socket->get(), options_.same_host, options_.dead_after);
  attempt_ = TRY(PeerHandshake::dial(*std::move(socket), options_.peer,
                                     {.claim = options_.claim, .deadline = Time::max()}));
  return {};
}

Result<> PeerDial::advance_attempt(Time now, bool ready) {
  const bool connecting = attempt_->connecting();
  if (ready) TRY(attempt_->advance());
  if (connecting && !attempt_->connecting()) connected(now);
  if (attempt_->done()) return {};
  if (now >= until_ && !attempt_->committed()) return no_room(now);
  if (attempt_->connecting() || now < next_) return {};
  const TcpProgress progress = TRY(progress_of(attempt_->fd()));
  const TcpSilence::Verdict verdict = silence_.judge(progress, options_.dead_after);
  if (verdict == TcpSilence::Verdict::silent) return no_answer(progress);
  if (verdict == TcpSilence::Verdict::idle) answered_ = now;
  if (progress.retransmissions >= repetitions_max && !attempt_->committed()) return no_room(now);
  refused_.reset();
  next_ = std::min(until_, now + tcp_judged_every);
  return {};
}

void PeerDial::connected(Time now) {
  answered_ = now;
  if (options_.addresses.size() == 1) until_ = Time::max();
  next_ = std::min(until_, now + tcp_judged_every);
}

/// The end of an attempt whose packets nobody took. No packet is lost within one system.
tl::unexpected<Error> PeerDial::no_room(Time now) {
  if (options_.same_host) answered_ = now;
  return fail(Errc::timeout, "no answer");
}

void PeerDial::yield(Time now) {
  attempt_.reset();
  next_ = now + again_after;
}

void PeerDial::abort_attempt(const Error& why, Time now) {
  failure_ = why.message;
  if (why.code == Errc::refused && !refused_) refused_ = now;
  const bool closed = why.message.ends_with(errno_text(ECONNREFUSED));
  closed_attempts_ = closed ? closed_attempts_ + 1 : 0;
  if (closed_attempts_ <= 1) closed_ = closed ? std::optional(now) : std::nullopt;
  attempt_.reset();
  next_ = now + again_after;
  ++number_;
}

/// How long one attempt may take. The time of each address doubles every round.
Duration PeerDial::limit(Duration most) const {
  const size_t round = std::min<size_t>(number_ / options_.addresses.size(), 8);
  return std::min(most, attempt_min * (1 << round));
}

}  // namespace dt
