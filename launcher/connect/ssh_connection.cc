#include "launcher/connect/ssh_connection.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"
#include "launcher/ssh/openssh.h"

#include <algorithm>

namespace dt {

namespace {

/// When the command is prepared: by then our first message is on its way to a near server.
constexpr Duration first_message_delay = milliseconds(2);
/// The longest look-up of a name. After it the try fails, and a later try looks up again.
constexpr Duration look_up_patience = seconds(5);

Resolver::Family family_of(AddressFamily family) {
  switch (family) {
    case AddressFamily::inet:
      return Resolver::Family::v4;
    case AddressFamily::inet6:
      return Resolver::Family::v6;
    case AddressFamily::any:
      break;
  }
  return Resolver::Family::any;
}

std::string exit_text(const SshExit& exit) {
  if (!exit.signal.empty()) return format("its process ended: killed by SIG{}", exit.signal);
  return format("its process ended: exit status {}", exit.status);
}

/// Returns a hint to append to a failure that does not explain itself.
std::string_view remedy_of(const SshFailure& failure) {
  switch (failure.phase) {
    case SshPhase::connecting:
      return "; is the host up, and sshd running there?";
    case SshPhase::banner:
      if (failure.error.code == Errc::timeout) return "; does an sshd listen there?";
      return failure.error.code == Errc::closed
                 ? "; the log of its sshd has the reason (MaxStartups, hosts.deny, …)"
                 : "";
    default:
      return "";
  }
}

}  // namespace

SshConnection::SshConnection(Shared shared, Target target, Handlers handlers)
    : shared_(shared),
      target_(std::move(target)),
      handlers_(std::move(handlers)),
      known_(shared.keyring.known_host(target_.settings)) {
  const SshSettings& settings = target_.settings;
  // The ssh configuration has names in small letters. An error should have what the user typed.
  const bool as_typed = lower_case(target_.request.host) == settings.host_name;
  shared_.resolver.look_up(
      {.name = as_typed ? target_.request.host : settings.host_name,
       .port = static_cast<uint16_t>(settings.port),
       .family = family_of(settings.address_family),
       .deadline = std::min<Time>(target_.open_by, shared_.loop.now() + look_up_patience)},
      [this, alive = std::weak_ptr(alive_)](Result<std::vector<Address>> addresses) {
        if (!alive.expired() && !ended_) dial(std::move(addresses));
      });
}

void SshConnection::dial(Result<std::vector<Address>> addresses) {
  if (!addresses) {
    return ended({.failure = SshFailure{SshPhase::connecting, addresses.error()}});
  }
  const SshSettings& settings = target_.settings;
  session_ = std::make_unique<SshSession>(
      shared_.loop,
      SshSession::Target{
          .dial = {.addresses = *std::move(addresses), .from_ip = settings.bind_address},
          .credentials = {.copy_id = copy_id_arguments(target_.request),
                          .user = settings.user,
                          .identities = shared_.keyring.identities(settings),
                          .identities_only = settings.identities_only},
          .command = [this] { return command(); },
          .host_key_types = known_.key_types()},
      SshSession::Options{.agent = shared_.keyring.agent(settings),
                          .open_by = target_.open_by,
                          .dead_after = target_.dead_after},
      SshSession::Handlers{.check_host_key = [this](ByteSpan key) { return check_host_key(key); },
                           .on_open = {},
                           .on_bytes = handlers_.on_bytes,
                           .on_end = [this](const SshSession::End& end) { ended(end); },
                           .on_drained = handlers_.on_drained,
                           .on_errors = handlers_.on_stderr});
  preparing_ = shared_.loop.after(first_message_delay, [this] { command(); });
}

/// Makes the command on the first call. That takes some milliseconds (a digest), so a timer does it
/// while the server prepares its first message.
const std::string& SshConnection::command() {
  preparing_ = Timer();
  if (command_.empty()) command_ = target_.command();
  return command_;
}

Result<> SshConnection::check_host_key(ByteSpan blob) const {
  const std::optional<HostKey> key = host_key_of(blob);
  if (!key) return fail(Errc::unsupported, "its host key is of a kind that dtrain does not know");
  const HostKeyVerdict verdict = known_.verdict(*key);
  switch (decide_host_key(verdict.kind, target_.settings)) {
    case HostKeyDecision::accept_and_record:
      record(*key);
      return {};
    case HostKeyDecision::refuse:
      return fail(Errc::refused,
                  refused_host_key_message(verdict, known_, name_of(*key), target_.request));
    case HostKeyDecision::accept:
      break;
  }
  if (verdict.kind != HostKeyVerdict::Kind::known) {
    shared_.log.warn(
        "{}: its host key {} is not the one of {}, and taken all the same "
        "(StrictHostKeyChecking no)",
        target_.request.host, fingerprint(*key), verdict.by->place());
  }
  return {};
}

void SshConnection::record(const HostKey& key) const {
  const std::string& file = target_.settings.user_known_hosts_files.front();
  // This file means that no key is to be recorded, as in images for pods.
  if (file == "/dev/null") return;
  std::optional<Sha1Digest> salt;
  if (target_.settings.hash_known_hosts) {
    salt.emplace();
    if (const auto filled = random_bytes(*salt); !filled) return;
  }
  const auto written = append_known_hosts(file, known_hosts_line(known_.name, key, salt));
  if (written) {
    shared_.log.warn("{}: its host key {} is new, and from now on known by {}",
                     target_.request.host, fingerprint(key), file);
  } else {
    shared_.log.warn("{}: {}", target_.request.host, written.error().message);
  }
}

void SshConnection::ended(const SshSession::End& end) {
  ended_ = true;
  const auto on_end = handlers_.on_end;  // a copy: the call may destroy this
  on_end(end_of(end));
}

AgentConnection::CloseReason SshConnection::end_of(const SshSession::End& end) const {
  if (!end.failure) {
    return {.why = exit_text(end.exit), .stderr_text = end.errors, .logged_in = true};
  }
  const auto& [phase, error] = *end.failure;
  const bool open = phase == SshPhase::open;
  const bool refused = phase == SshPhase::login && error.code == Errc::refused;
  const std::string why = error.code == Errc::timeout && session_
                              ? format("no answer for {} (--connect-timeout) while {}",
                                       duration_text(target_.patience), phase_text(phase))
                              : error.message;
  return {.why = session_ ? format("{}{}", why, remedy_of(*end.failure)) : why,
          .stderr_text = end.errors,
          .again = worth_retrying(*end.failure),
          .refused = phase == SshPhase::connecting && error.code == Errc::refused,
          .unknown_name = phase == SshPhase::connecting && error.code == Errc::not_found,
          .elsewhere = !open && (error.code == Errc::unsupported ||
                                 (refused && shared_.keyring.has_ticket(target_.settings))),
          .logged_in = open};
}

AgentConnection::CloseReason SshConnection::so_far() {
  const bool open = session_ && session_->phase() == SshPhase::open;
  return {.why = "it is silent", .logged_in = open};
}

void SshConnection::write(ByteSpan bytes) {
  if (session_) session_->write(bytes);
}

void SshConnection::close_after_sending() {
  if (session_) session_->close_after_sending();
}

void SshConnection::hang_up() {
  ended_ = true;
  preparing_ = Timer();
  session_.reset();
}

}  // namespace dt
