#include "launcher/ssh/session.h"

#include "base/format.h"

#include <array>
#include <utility>

namespace dt {

namespace {

using Step = SshProtocol::Step;

constexpr size_t read_bytes = size_t{64} << 10;
/// Limit of encrypted bytes that wait in the Stream: enough to keep the kernel busy.
constexpr size_t backlog_bytes_max = size_t{256} << 10;

}  // namespace

SshSession::SshSession(Loop& loop, Target target, Options options, Handlers handlers)
    : loop_(loop),
      target_(std::move(target)),
      options_(options),
      handlers_(std::make_shared<Handlers>(std::move(handlers))) {
  deadline_ = loop_.at(options_.open_by, [this] {
    fail({Errc::timeout, format("no answer in time while {}", phase_text(phase_))});
  });
  dialer_ = std::make_unique<Dialer>(loop_, target_.dial,
                                     [this](Result<Fd> socket) { connected(std::move(socket)); });
}

void SshSession::connected(Result<Fd> socket) {
  dialer_.reset();
  if (!socket) return fail(std::move(socket).error());
  if (const Result<> begun = begin(*std::move(socket)); !begun) return fail(begun.error());
  phase_ = SshPhase::banner;
  advance();
}

Result<> SshSession::begin(Fd socket) {
  const int number = socket.get();
  // Twice dead_after: the heartbeats detect a silent host sooner, and their error names it.
  tune_tcp(number, 2 * options_.dead_after);
  stream_ = TRY(Stream::open(loop_, std::move(socket), Fd(),
                             {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                              .on_end = [this](const std::optional<Error>& why) { lost(why); },
                              .on_drained = [this] { drained(); }}));
  protocol_ = TRY(open_ssh_protocol({.send = [this](ByteSpan bytes) { stream_->write(bytes); },
                                     .host_key_types = target_.host_key_types,
                                     .socket = number}));
  opening_ = std::make_unique<SshOpening>(
      *protocol_,
      SshOpening::Options{
          .credentials = std::move(target_.credentials),
          .command = std::move(target_.command),
          .host_key_types = std::move(target_.host_key_types),
          .agent = options_.agent,
          .check_host_key = [this](ByteSpan key) { return handlers_->check_host_key(key); },
          .on_progress = [this] { wake(); }});
  return {};
}

size_t SshSession::receive(ByteSpan bytes) {
  const size_t size = bytes.size();
  acknowledge_now(stream_->fd());
  opening_ ? opening_->receive(bytes) : protocol_->receive(bytes);
  advance();
  return size;
}

void SshSession::lost(const std::optional<Error>& why) {
  lost_why_ = why ? why->message : "";
  advance();
}

void SshSession::wake() {
  if (!waking_) waking_ = loop_.after(Duration::zero(), [this] { advance(); });
}

void SshSession::advance() {
  if (ended_ || phase_ == SshPhase::connecting) return;
  while (opening_) {
    const Result<Step> result = opening_->step(lost_why_);
    phase_ = opening_->phase();
    key_ = opening_->key();
    if (!result) return fail(result.error());
    if (*result == Step::waiting) return;
    if (phase_ != SshPhase::open) continue;
    opening_.reset();
    deadline_ = Timer();
    opened_owed_ = true;
  }
  exchange();
}

void SshSession::exchange() {
  if (std::exchange(opened_owed_, false) && handlers_->on_open) {
    const auto handlers = handlers_;
    handlers->on_open();
    if (handlers.use_count() == 1) return;
  }
  if (const Result<> sent = send_some(); !sent) return fail(sent.error());
  if (!read_output()) return;
  if (!read_errors()) return;
  // The bytes read may contain a window adjustment, which allows to send more.
  if (const Result<> sent = send_some(); !sent) return fail(sent.error());
  // A paused handler has not read all output yet, so the end of the command must wait.
  if (!paused_) {
    auto exit = protocol_->closed();
    if (!exit) return fail(std::move(exit).error());
    if (*exit) {
      protocol_->disconnect();
      return finish({.exit = **std::move(exit)});
    }
    if (lost_why_) {
      return fail({Errc::closed, format("the connection was lost{}{}",
                                        lost_why_->empty() ? "" : ": ", *lost_why_)});
    }
  }
  // While bytes wait to be sent, the socket must be read: window adjustments of the server come
  // there.
  const bool reading = !paused_ || out_.size() > 0;
  reading ? stream_->resume() : stream_->pause();
}

bool SshSession::read_output() {
  while (!paused_) {
    const size_t had = in_.size();
    in_.resize(had + read_bytes);
    const Result<size_t> n =
        protocol_->read(SshProtocol::Output::standard, std::span(in_).subspan(had));
    in_.resize(had + n.value_or(0));
    if (!n) {
      fail(n.error());
      return false;
    }
    if (*n == 0) return true;
    // The handler may destroy this object, so the handlers and the bytes live in locals.
    const auto handlers = handlers_;
    Bytes received = std::move(in_);
    const size_t used = handlers->on_bytes(received);
    if (handlers.use_count() == 1) return false;
    received.erase(received.begin(), received.begin() + static_cast<ptrdiff_t>(used));
    in_ = std::move(received);
  }
  return true;
}

bool SshSession::read_errors() {
  std::array<std::byte, 4096> buffer;
  bool more = false;
  for (;;) {
    const Result<size_t> n = protocol_->read(SshProtocol::Output::error, buffer);
    if (!n) {
      fail(n.error());
      return false;
    }
    if (*n == 0) break;
    more = true;
    errors_ += as_text(ByteSpan(buffer).first(*n));
    if (errors_.size() > errors_bytes_max) errors_.erase(0, errors_.size() - errors_bytes_max);
  }
  if (!more || !handlers_->on_errors) return true;
  const auto handlers = handlers_;
  handlers->on_errors(std::string(errors_));
  return handlers.use_count() > 1;
}

void SshSession::write(ByteSpan bytes) {
  if (ended_ || out_.closing()) return;
  drained_owed_ = handlers_->on_drained != nullptr;
  out_.write(bytes);
  send_or_wake();
}

void SshSession::close_after_sending() {
  if (ended_ || out_.closing()) return;
  out_.close();
  send_or_wake();
}

void SshSession::send_or_wake() {
  if (phase_ != SshPhase::open) return;
  // Handlers must not run within a caller's call; advance() meets the same failure again.
  if (!send_some()) wake();
  if (out_.size() > 0) stream_->resume();
}

Result<> SshSession::send_some() {
  return out_.send(*protocol_, [this] { return stream_->unsent() < backlog_bytes_max; });
}

size_t SshSession::unsent() const {
  return out_.size() + (stream_ ? stream_->unsent() : 0);
}

void SshSession::drained() {
  if (phase_ != SshPhase::open) return;
  if (const Result<> sent = send_some(); !sent) return fail(sent.error());
  if (unsent() > 0 || !std::exchange(drained_owed_, false)) return;
  const auto handlers = handlers_;
  handlers->on_drained();
}

void SshSession::pause() {
  paused_ = true;
  if (phase_ == SshPhase::open && !ended_ && out_.size() == 0) stream_->pause();
}

void SshSession::resume() {
  if (ended_ || !std::exchange(paused_, false)) return;
  if (stream_) stream_->resume();
  // Bytes that the library has buffered cause no socket event.
  wake();
}

void SshSession::fail(Error error) {
  finish({.failure = SshFailure{phase_, std::move(error)}});
}

void SshSession::finish(End end) {
  // on_end may destroy this object, so everything else happens before it.
  ended_ = true;
  end.errors = std::move(errors_);
  deadline_ = Timer();
  waking_ = Timer();
  dialer_.reset();
  opening_.reset();
  protocol_.reset();
  stream_.reset();
  out_ = {};
  const auto handlers = handlers_;
  handlers->on_end(std::move(end));
}

}  // namespace dt
