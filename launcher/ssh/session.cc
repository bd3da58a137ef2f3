#include "launcher/ssh/session.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/keys/wire.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {

namespace {

using Step = SshProtocol::Step;

constexpr size_t read_bytes = size_t{64} << 10;
/// Limit of encrypted bytes that wait in the Stream: enough to keep the kernel busy.
constexpr size_t backlog_bytes_max = size_t{256} << 10;
/// Limit of bytes from the server before the command runs: banner, keys, its owner's notices.
constexpr size_t bytes_before_open_max = size_t{256} << 10;
constexpr size_t banner_bytes_max = 200;

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

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
  return {};
}

size_t SshSession::receive(ByteSpan bytes) {
  const size_t size = bytes.size();
  acknowledge_now(stream_->fd());
  if (phase_ == SshPhase::banner) {
    const size_t wanted = std::min(size, banner_bytes_max - banner_.size());
    banner_ += as_text(bytes.first(wanted));
  }
  protocol_->receive(bytes);
  received_before_open_ += phase_ == SshPhase::open ? 0 : size;
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
  while (!ended_ && phase_ != SshPhase::open) {
    if (phase_ == SshPhase::connecting) return;
    const Result<Step> result = step();
    if (!result) {
      const bool no_ssh = phase_ == SshPhase::banner && result.error().code == Errc::protocol;
      return fail(no_ssh ? no_ssh_server() : result.error());
    }
    if (*result == Step::waiting) {
      if (lost_why_) return fail(hung_up());
      if (received_before_open_ > bytes_before_open_max) return fail(no_ssh_server());
      return;
    }
  }
  if (!ended_) exchange();
}

Result<Step> SshSession::step() {
  Step result = Step::done;
  switch (phase_) {
    case SshPhase::banner:
    case SshPhase::key_exchange:
      return continue_handshake();
    case SshPhase::host_key:
      TRY(check_host_key());
      login_ = std::make_unique<SshLogin>(*protocol_, target_.credentials, options_.agent,
                                          [this] { wake(); });
      phase_ = SshPhase::login;
      return result;
    case SshPhase::login:
      result = TRY(login_->step());
      if (result == Step::done) {
        key_ = login_->key();
        phase_ = SshPhase::channel;
      }
      return result;
    default:
      return start_command();
  }
}

Result<Step> SshSession::continue_handshake() {
  const Result<Step> result = protocol_->handshake();
  if (protocol_->banner_received()) phase_ = SshPhase::key_exchange;
  if (result && *result == Step::done) phase_ = SshPhase::host_key;
  return result;
}

Result<> SshSession::check_host_key() {
  const ByteSpan key = protocol_->host_key();
  const auto& known = target_.host_key_types;
  // Without rsa-sha2 the library cannot request the known RSA key. A key of another type then does
  // not mean that the host's key changed.
  if (contains(known, "ssh-rsa") && !contains(known, key_type_of(key)) && !ssh_library().rsa_sha2) {
    return dt::fail(
        Errc::unsupported,
        format("the host is known by its rsa key, which {} cannot check", ssh_library().text));
  }
  return handlers_->check_host_key(key);
}

Result<Step> SshSession::start_command() {
  if (!channel_open_) {
    const Step opening = TRY(protocol_->open_channel());
    if (opening == Step::waiting) return Step::waiting;
    channel_open_ = true;
    // As late as possible: the caller may still be building the command.
    command_ = target_.command();
  }
  const Step executing = TRY(protocol_->execute(command_));
  if (executing == Step::waiting) return Step::waiting;
  login_.reset();
  deadline_ = Timer();
  phase_ = SshPhase::open;
  opened_owed_ = true;
  return Step::done;
}

Error SshSession::no_ssh_server() const {
  return {Errc::protocol,
          format("it answered '{}' where an SSH server was expected", printable(banner_))};
}

Error SshSession::hung_up() const {
  if (phase_ == SshPhase::open) {
    return {Errc::closed,
            format("the connection was lost{}{}", lost_why_->empty() ? "" : ": ", *lost_why_)};
  }
  // Some servers send their reason instead of a banner: "Exceeded MaxStartups".
  if (phase_ == SshPhase::banner && !banner_.empty()) {
    return {Errc::closed, format("the server closed the connection with the message '{}'",
                                 printable(trim(banner_)))};
  }
  return {Errc::closed, format("the server closed the connection while {}{}{}", phase_text(phase_),
                               lost_why_->empty() ? "" : ": ", *lost_why_)};
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
    if (lost_why_) return fail(hung_up());
  }
  // While bytes wait to be sent, the socket must be read: window adjustments of the server come
  // there.
  const bool reading = !paused_ || sent_ < out_.size();
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
  if (ended_ || closing_) return;
  drained_owed_ = handlers_->on_drained != nullptr;
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  send_or_wake();
}

void SshSession::close_after_sending() {
  if (ended_ || closing_) return;
  closing_ = true;
  send_or_wake();
}

void SshSession::send_or_wake() {
  if (phase_ != SshPhase::open) return;
  // Handlers must not run within a caller's call; advance() meets the same failure again.
  if (!send_some()) wake();
  if (sent_ < out_.size()) stream_->resume();
}

Result<> SshSession::send_some() {
  while (sent_ < out_.size() && stream_->unsent() < backlog_bytes_max) {
    const size_t n = TRY(protocol_->write(ByteSpan(out_).subspan(sent_)));
    if (n == 0) break;
    sent_ += n;
  }
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
    if (closing_ && !input_ended_) {
      const Step ending = TRY(protocol_->end_input());
      input_ended_ = ending == Step::done;
    }
  } else if (sent_ > (size_t{1} << 20)) {
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
  return {};
}

size_t SshSession::unsent() const {
  return out_.size() - sent_ + (stream_ ? stream_->unsent() : 0);
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
  if (phase_ == SshPhase::open && !ended_ && sent_ == out_.size()) stream_->pause();
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
  login_.reset();
  protocol_.reset();
  stream_.reset();
  out_.clear();
  sent_ = 0;
  const auto handlers = handlers_;
  handlers->on_end(std::move(end));
}

}  // namespace dt
