#include "launcher/connect/remote_connection.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/failure.h"
#include "launcher/ssh/keys/client_key.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace dt {

namespace {

using By = SshRoute::By;

/// The time beyond the deadline in which a client can report by itself what it waited for.
constexpr Duration client_timeout_margin = milliseconds(500);

std::string route_text(const SshRoute& route, const LoginOptions& login) {
  switch (route.by) {
    case By::libssh2:
      return route.why;
    case By::openssh:
    case By::openssh_plain:
      return format("the OpenSSH client, for {}", route.why);
    case By::program:
      return login.program.empty() ? route.why
                                   : format("{} ({})", login.program.front(), route.why);
  }
  return "";
}

AgentConnection::CloseReason end_of_client(const ClientContext& context,
                                           const ProcessConnection::Facts& facts) {
  const std::string how = facts.status  ? "its process ended: " + facts.status->text()
                          : facts.ended ? std::string("its connection ended")
                                        : std::string("it is silent");
  const ClientFailure failure = client_failure(context, facts.stderr_text, how);
  // 255 is ssh's own failure; another status is that of the remote command.
  const bool from_host = facts.status && facts.status->code != 255;
  std::string stderr_text;
  for (const std::string_view line : parse_client_output(facts.stderr_text).lines)
    stderr_text += format("{}\n", line);
  const bool logged_in = facts.heard || from_host || (facts.ended && stderr_text.empty());
  return {.why = failure.text,
          .stderr_text = stderr_text,
          .again = failure.again && !logged_in,
          .refused = failure.refused,
          .unknown_name = failure.unknown_name,
          .elsewhere = failure.too_old,
          .logged_in = logged_in};
}

}  // namespace

RemoteConnection::RemoteConnection(RemoteHosts& all, Host host, RemoteCommand command,
                                   Handlers handlers)
    : all_(all),
      host_(std::move(host)),
      command_(std::move(command)),
      request_(all.request(host_)),
      handlers_(std::move(handlers)) {
  acquire_permit();
}

void RemoteConnection::acquire_permit() {
  permit_ = all_.limiter().acquire([this] { begin(); });
}

Duration RemoteConnection::patience() const {
  if (all_.login().connect_timeout) return *all_.login().connect_timeout;
  if (settings_.connect_timeout_s) return seconds(*settings_.connect_timeout_s);
  return connect_timeout_default;
}

void RemoteConnection::set_deadline() {
  deadline_ = *began_ + patience();
  timeout_ = all_.loop().at(deadline_ + client_timeout_margin, [this] { no_answer(); });
}

void RemoteConnection::begin() {
  if (!began_) {
    began_ = all_.loop().now();
    set_deadline();
  }
  if (route_) return start_try();
  if (all_.options().other) return take_route({By::program, "another way"});
  if (!all_.login().scheduler_program.empty())
    return take_route({By::program, "the scheduler's program"});
  if (!all_.login().program.empty()) return take_route({By::program, "--rsh-agent"});
  find_route();
}

void RemoteConnection::find_route() {
  const Result<SshSettings> read = read_ssh_config(request_, all_.world());
  const bool wants_openssh = all_.login().implementation == SshImplementation::openssh;
  // `needs_ssh_g` has the directives that only ssh can evaluate (Match exec, …).
  if (!read || read->needs_ssh_g.empty() || wants_openssh) return take_settings(read);
  config_query_ = std::make_unique<ProgramOutput>(
      all_.loop(), ssh_g_command(request_),
      [this, guess = *read](const Result<std::string>& output) {
        const auto query = std::exchange(config_query_, nullptr);
        take_settings(output ? parse_ssh_g(*output, request_, all_.world(), guess)
                             : tl::unexpected(output.error()));
      });
}

void RemoteConnection::take_settings(const Result<SshSettings>& settings) {
  if (!settings) return end({.why = settings.error().message});
  settings_ = *settings;
  set_deadline();
  auto route = choose_ssh_route(all_.route_facts(settings_));
  if (!route) return end({.why = route.error().message});
  take_route(*std::move(route));
}

void RemoteConnection::take_route(SshRoute route) {
  all_.log().info("{}: through {}", request_.host, route_text(route, all_.login()));
  route_ = std::move(route);
  start_try();
}

void RemoteConnection::start_try() {
  ++attempt_;
  auto connection = route_->by == By::libssh2 ? open_session() : open_client();
  if (!connection) return end({.why = connection.error().message});
  connection_ = *std::move(connection);
}

AgentConnection::Handlers RemoteConnection::handlers_of_try() {
  return {.on_bytes = handlers_.on_bytes,
          .on_end = [this](CloseReason reason) { try_ended(std::move(reason)); },
          .on_drained = handlers_.on_drained,
          .on_stderr = handlers_.on_stderr};
}

Result<std::unique_ptr<AgentConnection>> RemoteConnection::open_session() {
  SshConnection::Target target = {.request = request_,
                                  .settings = settings_,
                                  .command = command_.command,
                                  .open_by = deadline_,
                                  .patience = patience(),
                                  .dead_after = all_.options().dead_after};
  return std::make_unique<SshConnection>(all_.shared(), std::move(target), handlers_of_try());
}

Result<SpawnedProcess> RemoteConnection::spawn_process() const {
  if (all_.options().other) return all_.options().other(host_);
  if (route_->by == By::program) return start_client(rsh_command(all_.login().program, request_));
  const ClientOptions options = {.connect_timeout = patience(),
                                 .curve25519_first = route_->by == By::openssh,
                                 .session_changes = settings_.session_changes};
  return start_client(ssh_command(request_, options, command_.command()));
}

ClientContext RemoteConnection::client_context() {
  ClientContext context = {.request = request_};
  if (route_->by == By::program) return context;
  SshKeyring& keyring = all_.shared().keyring;
  context.known = keyring.known_host(settings_);
  for (const auto& identity : keyring.identities(settings_)) {
    if (!identity->problem.empty()) context.key_problems.push_back(identity->problem);
  }
  return context;
}

Result<std::unique_ptr<AgentConnection>> RemoteConnection::open_client() {
  SpawnedProcess process = TRY(spawn_process());
  auto connection = TRY(ProcessConnection::open(
      all_.loop(), std::move(process),
      {.is_client = true,
       .explain =
           [context = client_context()](const ProcessConnection::Facts& facts) {
             return end_of_client(context, facts);
           },
       .find_key = key_of_client},
      handlers_of_try()));
  const bool reads_script = route_->by == By::program && !all_.options().other;
  if (reads_script) connection->write(as_bytes(command_.script()));
  return connection;
}

void RemoteConnection::try_ended(CloseReason reason) {
  if (arrived_) return end(std::move(reason));
  // A scheduler may publish a host's name after it has started the job.
  const bool again = reason.again || (reason.unknown_name && is_patience_given());
  auto next = next_ssh_try(
      all_.route_facts(settings_),
      {.by = route_->by, .again = again, .elsewhere = reason.elsewhere, .why = reason.why});
  only_refused_ = only_refused_ && reason.refused;
  const Time when = all_.loop().now() + pause_before_next();
  if (!next || when >= last_try()) return end(std::move(reason));
  connection_.reset();
  // Another kind of connection starts at once, with the permit; the same kind waits without it.
  if (next->by != route_->by) return take_route(*std::move(next));
  all_.log().info("{}: {}; trying again", request_.host, reason.why);
  permit_.reset();
  retry_timer_ = all_.loop().at(when, [this] { acquire_permit(); });
}

bool RemoteConnection::is_patience_given() const {
  return all_.login().connect_timeout || settings_.connect_timeout_s;
}

/// A host that only refuses has no sshd, unless it is just starting. A time limit that the user
/// gave is waited for, since hosts may still be booting.
Time RemoteConnection::last_try() const {
  constexpr Duration refused_patience = seconds(2);
  return only_refused_ && !is_patience_given()
             ? std::min<Time>(deadline_, *began_ + refused_patience)
             : deadline_;
}

Duration RemoteConnection::pause_before_next() const {
  return retry_delay(
      attempt_, std::hash<std::string>()(format("{}/{}", request_.host, all_.options().noise)));
}

void RemoteConnection::no_answer() {
  const std::string waited =
      format("no answer for {} (--connect-timeout)", duration_text(patience()));
  CloseReason reason = so_far();
  reason.timed_out = true;
  reason.why = reason.stderr_text.empty() ? waited : format("{}: {}", waited, reason.why);
  hang_up();
  end(std::move(reason));
}

AgentConnection::CloseReason RemoteConnection::so_far() {
  return connection_ ? connection_->so_far() : CloseReason{.why = "it is silent"};
}

void RemoteConnection::clear() {
  ended_ = true;
  timeout_ = Timer();
  retry_timer_ = Timer();
  config_query_.reset();
  permit_.reset();
}

void RemoteConnection::end(CloseReason reason) {
  clear();
  const auto on_end = handlers_.on_end;  // a copy: the call may destroy this
  on_end(std::move(reason));
}

std::string RemoteConnection::login() const {
  if (!route_) return "";
  const std::string key = connection_ ? connection_->login() : "";
  return route_text(*route_, all_.login()) + (key.empty() ? "" : ", key ") + key;
}

void RemoteConnection::write(ByteSpan bytes) {
  assert(connection_ && "nothing has come from there yet");
  connection_->write(bytes);
}

void RemoteConnection::arrived() {
  arrived_ = true;
  timeout_ = Timer();
  permit_.reset();
}

void RemoteConnection::close_after_sending() {
  // No agent reads the input yet: without an answer there is nothing to finish.
  if (!arrived_) return hang_up();
  connection_->close_after_sending();
}

void RemoteConnection::hang_up() {
  clear();
  if (connection_) connection_->hang_up();
}

void RemoteConnection::kill() {
  clear();
  if (connection_) connection_->kill();
}

}  // namespace dt
