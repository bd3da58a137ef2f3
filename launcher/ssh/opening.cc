#include "launcher/ssh/opening.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/keys/wire.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

using Step = SshProtocol::Step;

/// Limit of bytes from the server before the command runs: banner, keys, its owner's notices.
constexpr size_t received_bytes_max = size_t{256} << 10;
constexpr size_t banner_bytes_max = 200;

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

SshOpening::SshOpening(SshProtocol& protocol, Options options)
    : protocol_(protocol), options_(std::move(options)) {
}

void SshOpening::receive(ByteSpan bytes) {
  if (phase_ == SshPhase::banner) {
    const size_t wanted = std::min(bytes.size(), banner_bytes_max - banner_.size());
    banner_ += as_text(bytes.first(wanted));
  }
  protocol_.receive(bytes);
  received_ += bytes.size();
}

Result<Step> SshOpening::step(const std::optional<std::string>& lost) {
  Result<Step> result = try_step();
  if (!result) {
    if (phase_ == SshPhase::banner && result.error().code == Errc::protocol) return no_ssh_server();
  } else if (*result == Step::waiting) {
    if (lost) return hung_up(*lost);
    if (received_ > received_bytes_max) return no_ssh_server();
  }
  return result;
}

Result<Step> SshOpening::try_step() {
  Step result = Step::done;
  switch (phase_) {
    case SshPhase::banner:
    case SshPhase::key_exchange:
      return continue_handshake();
    case SshPhase::host_key:
      TRY(check_host_key());
      login_ = std::make_unique<SshLogin>(protocol_, options_.credentials, options_.agent,
                                          options_.on_progress);
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

Result<Step> SshOpening::continue_handshake() {
  const Result<Step> result = protocol_.handshake();
  if (protocol_.banner_received()) phase_ = SshPhase::key_exchange;
  if (result && *result == Step::done) phase_ = SshPhase::host_key;
  return result;
}

Result<> SshOpening::check_host_key() {
  const ByteSpan key = protocol_.host_key();
  const auto& known = options_.host_key_types;
  // Without rsa-sha2 the library cannot request the known RSA key. A key of another type then does
  // not mean that the host's key changed.
  if (contains(known, "ssh-rsa") && !contains(known, key_type_of(key)) && !ssh_library().rsa_sha2) {
    return fail(Errc::unsupported, format("the host is known by its rsa key, which {} cannot check",
                                          ssh_library().text));
  }
  return options_.check_host_key(key);
}

Result<Step> SshOpening::start_command() {
  if (!channel_open_) {
    const Step opening = TRY(protocol_.open_channel());
    if (opening == Step::waiting) return Step::waiting;
    channel_open_ = true;
    // As late as possible: the caller may still be building the command.
    command_ = options_.command();
  }
  const Step executing = TRY(protocol_.execute(command_));
  if (executing == Step::done) phase_ = SshPhase::open;
  return executing;
}

tl::unexpected<Error> SshOpening::no_ssh_server() const {
  return fail(Errc::protocol,
              format("it answered '{}' where an SSH server was expected", printable(banner_)));
}

tl::unexpected<Error> SshOpening::hung_up(const std::string& why) const {
  // Some servers send their reason instead of a banner: "Exceeded MaxStartups".
  if (phase_ == SshPhase::banner && !banner_.empty()) {
    return fail(Errc::closed, format("the server closed the connection with the message '{}'",
                                     printable(trim(banner_))));
  }
  return fail(Errc::closed, format("the server closed the connection while {}{}{}",
                                   phase_text(phase_), why.empty() ? "" : ": ", why));
}

}  // namespace dt
