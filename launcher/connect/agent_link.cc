#include "launcher/connect/agent_link.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/connect/process_connection.h"
#include "launcher/connect/remote_connection.h"
#include "launcher/connect/spawned_process.h"

#include <algorithm>

namespace dt {

namespace {

/// How much of the executable waits for one host to take it; with many hosts all of it would be
/// hundreds of megabytes.
constexpr size_t push_bytes_ahead = size_t{1} << 20;
constexpr size_t push_bytes = size_t{128} << 10;

AgentConnection::End end_of_local_agent(const ProcessConnection::Facts& facts) {
  return {.why = facts.status ? "its process ended: " + facts.status->text()
                              : std::string("its connection ended"),
          .said = facts.said,
          .logged_in = true};
}

}  // namespace

AgentLink::AgentLink(Loop& loop, Host host, const ConnectOptions& ways, Handlers handlers)
    : loop_(loop),
      host_(std::move(host)),
      connect_options_(ways),
      handlers_(std::move(handlers)),
      starting_(ways.architecture),
      lease_(ways.heartbeat, ways.dead_after, loop_.now()) {
}

AgentConnection::Handlers AgentLink::connection_handlers() {
  return {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
          .on_end = [this](const AgentConnection::End& end) { connection_ended(end); },
          // Only a host that may be sent the executable needs it.
          .on_drained = connect_options_.binary.bytes().empty() ? std::function<void()>()
                                                                : [this] { push_some(); },
          .on_said = [this](std::string_view said) { look_for_end(said); }};
}

Result<std::unique_ptr<AgentConnection>> AgentLink::open_connection() {
  if (!host_.here || connect_options_.other) {
    const RemoteCommand command = {
        .words = [this] { return agent_command(connect_options_.binary, cached_executable_); },
        .script = [this] { return agent_script(connect_options_.binary, cached_executable_); }};
    return std::make_unique<RemoteConnection>(*connect_options_.remote, host_, command,
                                              connection_handlers());
  }
  SpawnedProcess carrier = TRY(start_local_agent(connect_options_.open_files_max));
  return TRY(ProcessConnection::open(loop_, std::move(carrier), {.explain = end_of_local_agent},
                                     connection_handlers()));
}

Result<> AgentLink::start() {
  auto way = open_connection();
  if (!way) return tl::unexpected(std::move(way).error());
  connection_ = *std::move(way);
  return {};
}

void AgentLink::look_for_end(std::string_view said) {
  const size_t at = said.find(agent_ended_word);
  const size_t end = at == std::string_view::npos ? at : said.find('\n', at);
  if (starting_ || end == std::string_view::npos) return;
  const size_t begin = at + agent_ended_word.size();
  lose(printable(said.substr(begin, end - begin), 300));
}

size_t AgentLink::receive(ByteSpan bytes) {
  lease_.heard(loop_.now());
  const size_t used = starting_ ? receive_start(bytes) : 0;
  return used + receive_frames(bytes.subspan(used));
}

size_t AgentLink::receive_frames(ByteSpan bytes) {
  size_t used = 0;
  while (!starting_ && !gone_) {
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
  return gone_ ? bytes.size() : used;
}

size_t AgentLink::receive_start(ByteSpan bytes) {
  size_t used = 0;
  while (!gone_) {
    const AgentStart::Taken taken = starting_->take(bytes.subspan(used));
    used += taken.used;
    switch (taken.step) {
      case AgentStart::Step::wait:
        return used;
      case AgentStart::Step::push:
        pushed_ = true;
        connection_->arrived();  // how long the rest takes is up to the network and --start-timeout
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

void AgentLink::connection_ended(const AgentConnection::End& end) {
  if (!starting_) return lose(end.why);
  const bool was_kept = starting_->ran_kept_copy() && !end.timed_out;
  if (!was_kept || cached_executable_ == CachedExecutable::distrust)
    return lose(why_not_started(end));
  cached_executable_ = CachedExecutable::distrust;
  starting_.emplace(connect_options_.architecture);
  if (const auto started = start(); !started) lose(started.error().message);
}

std::string AgentLink::why_not_started(const AgentConnection::End& end) {
  if (!end.logged_in) return end.why;
  if (!end.said.empty()) starting_->take(as_bytes(end.said + "\n"));
  return starting_->silent() ? "no agent started there: " + end.why : starting_->why();
}

void AgentLink::write(ByteSpan frames) {
  if (gone_) return;
  // A shell that starts the agent would take them for its own input.
  if (starting_) {
    early_.insert(early_.end(), frames.begin(), frames.end());
  } else {
    connection_->write(frames);
  }
}

void AgentLink::lose(std::string why) {
  if (gone_) return;
  gone_ = true;
  why_ = std::move(why);
  if (connection_) connection_->hang_up();
  if (handlers_.on_gone) handlers_.on_gone();
}

void AgentLink::let_go() {
  if (gone_) return;
  gone_ = true;
  if (connection_) connection_->close_after_sending();
}

void AgentLink::kill() {
  if (connection_) connection_->kill();
}

}  // namespace dt
