#include "launcher/connect/agent_link.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/connect/process_connection.h"
#include "launcher/connect/remote_connection.h"
#include "launcher/connect/spawned_process.h"

#include <algorithm>

namespace dt {

namespace {

/// How much of the executable is queued for one host at a time. The whole file, for many hosts,
/// would be hundreds of megabytes.
constexpr size_t push_bytes_ahead = size_t{1} << 20;
constexpr size_t push_bytes = size_t{128} << 10;

AgentConnection::CloseReason end_of_local_agent(const ProcessConnection::Facts& facts) {
  return {.why = facts.status ? "its process ended: " + facts.status->text()
                              : std::string("its connection ended"),
          .stderr_text = facts.stderr_text,
          .logged_in = true};
}

}  // namespace

AgentLink::AgentLink(Loop& loop, Host host, const ConnectOptions& options, Handlers handlers)
    : loop_(loop),
      host_(std::move(host)),
      connect_options_(options),
      handlers_(std::move(handlers)),
      starting_(options.architecture),
      lease_(options.heartbeat, host_.here ? options.local_dead_after : options.dead_after,
             loop_.now()),
      cached_executable_(options.ssh.keeps_agent ? CachedExecutable::trusted
                                                 : CachedExecutable::unused) {
}

AgentConnection::Handlers AgentLink::connection_handlers() {
  return {
      .on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
      .on_end = [this](const AgentConnection::CloseReason& reason) { connection_ended(reason); },
      // Only a link that may send the executable needs it.
      .on_drained = connect_options_.binary.bytes().empty() ? std::function<void()>()
                                                            : [this] { push_some(); },
      .on_stderr = [this](std::string_view stderr_text) { find_end_report(stderr_text); }};
}

Result<std::unique_ptr<AgentConnection>> AgentLink::open_connection() {
  DialedHosts* const dialed = connect_options_.dialed_hosts;
  if (dialed != nullptr && dialed->starts(host_))
    return dialed->expect(host_, connection_handlers());
  if (!host_.here || connect_options_.other) {
    const RemoteCommand command = {
        .command = [this] { return agent_command(connect_options_.binary, cached_executable_); },
        .script = [this] { return agent_script(connect_options_.binary, cached_executable_); }};
    return std::make_unique<RemoteConnection>(*connect_options_.remote, host_, command,
                                              connection_handlers());
  }
  SpawnedProcess process = TRY(start_local_agent({.open_files_max = connect_options_.open_files_max,
                                                  .scheduled = connect_options_.scheduled}));
  return TRY(ProcessConnection::open(loop_, std::move(process), {.explain = end_of_local_agent},
                                     connection_handlers()));
}

Result<> AgentLink::start() {
  auto connection = open_connection();
  if (!connection) return tl::unexpected(std::move(connection).error());
  connection_ = *std::move(connection);
  return {};
}

void AgentLink::find_end_report(std::string_view stderr_text) {
  const size_t at = stderr_text.find(agent_ended_word);
  const size_t end = at == std::string_view::npos ? at : stderr_text.find('\n', at);
  if (starting_ || end == std::string_view::npos) return;
  const size_t begin = at + agent_ended_word.size();
  lose(printable(stderr_text.substr(begin, end - begin), 300));
}

size_t AgentLink::receive(ByteSpan bytes) {
  lease_.heard(loop_.now());
  const size_t used = starting_ ? receive_start(bytes) : 0;
  return used + receive_frames(bytes.subspan(used));
}

size_t AgentLink::receive_frames(ByteSpan bytes) {
  size_t used = 0;
  while (!starting_ && !closed_) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) return used;
    const auto message = frame ? assembler_.add(**frame) : tl::unexpected(frame.error());
    const Result<> handled = !message   ? tl::unexpected(message.error())
                             : *message ? handlers_.on_message(**message)
                                        : Result<>();
    if (!handled) {
      lose("protocol error: " + handled.error().message);
      break;
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return closed_ ? bytes.size() : used;
}

size_t AgentLink::receive_start(ByteSpan bytes) {
  size_t used = 0;
  while (!closed_) {
    const AgentStart::Taken taken = starting_->take(bytes.subspan(used));
    used += taken.used;
    switch (taken.step) {
      case AgentStart::Step::wait:
        return used;
      case AgentStart::Step::push:
        pushed_ = true;
        connection_->arrived();  // sending is limited by --start-timeout only
        unpushed_ = connect_options_.binary.bytes();
        push_some();
        break;
      case AgentStart::Step::agent:
        starting_.reset();
        connection_->arrived();
        connection_->write(std::exchange(early_, {}));
        return used;
      case AgentStart::Step::failed:
        lose(starting_->why());
        break;
    }
  }
  return used;
}

void AgentLink::push_some() {
  while (!unpushed_.empty() && connection_->unsent() < push_bytes_ahead) {
    const ByteSpan piece = unpushed_.first(std::min(unpushed_.size(), push_bytes));
    unpushed_ = unpushed_.subspan(piece.size());
    connection_->write(piece);
  }
}

void AgentLink::connection_ended(const AgentConnection::CloseReason& reason) {
  if (!starting_) return lose(reason.why);
  const bool was_cached = starting_->ran_cached_copy() && !reason.timed_out;
  if (!was_cached || cached_executable_ != CachedExecutable::trusted)
    return lose(why_not_started(reason));
  cached_executable_ = CachedExecutable::untrusted;
  // The cached executable is broken: start once more, and have it sent again.
  starting_.emplace(connect_options_.architecture);
  if (const auto started = start(); !started) lose(started.error().message);
}

std::string AgentLink::why_not_started(const AgentConnection::CloseReason& reason) {
  if (!reason.logged_in) return reason.why;
  if (!reason.stderr_text.empty()) starting_->take(as_bytes(reason.stderr_text + "\n"));
  if (!starting_->silent()) return starting_->why();
  const bool by_itself = reason.why.starts_with("its process ended: exit status");
  return format(
      "no agent started there: {}{}", reason.why,
      by_itself ? "; does the login shell end at once (exit in ~/.bashrc, /bin/false)?" : "");
}

void AgentLink::write(ByteSpan frames) {
  if (closed_) return;
  // The shell that starts the agent would read them as its own input.
  if (starting_) {
    early_.insert(early_.end(), frames.begin(), frames.end());
  } else {
    connection_->write(frames);
  }
}

void AgentLink::lose(std::string why) {
  if (closed_) return;
  closed_ = true;
  why_ = std::move(why);
  if (connection_) connection_->hang_up();
  if (handlers_.on_lost) handlers_.on_lost();
}

void AgentLink::close() {
  if (closed_) return;
  closed_ = true;
  if (connection_) connection_->close_after_sending();
}

void AgentLink::kill() {
  if (connection_) connection_->kill();
}

}  // namespace dt
