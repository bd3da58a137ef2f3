#include "launcher/connect/agent_link.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/connect/carrier.h"
#include "launcher/connect/process_way.h"
#include "launcher/connect/remote_way.h"

#include <algorithm>

namespace dt {

namespace {

/// How much of the executable waits for one host to take it; with many hosts all of it would be
/// hundreds of megabytes.
constexpr size_t push_bytes_ahead = size_t{1} << 20;
constexpr size_t push_bytes = size_t{128} << 10;

Way::End end_of_local_agent(const ProcessWay::Facts& facts) {
  return {.why = facts.status ? "its process ended: " + facts.status->text()
                              : std::string("its connection ended"),
          .said = facts.said,
          .logged_in = true};
}

}  // namespace

AgentLink::AgentLink(Loop& loop, Host host, const AgentWays& ways, Handlers handlers)
    : loop_(loop),
      host_(std::move(host)),
      ways_(ways),
      handlers_(std::move(handlers)),
      starting_(ways.architecture),
      lease_(ways.heartbeat, ways.dead_after, loop_.now()) {
}

Way::Handlers AgentLink::way_handlers() {
  return {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
          .on_end = [this](const Way::End& end) { way_ended(end); },
          // Only a host that may be sent the executable needs it.
          .on_drained =
              ways_.binary.bytes().empty() ? std::function<void()>() : [this] { push_some(); },
          .on_said = [this](std::string_view said) { look_for_end(said); }};
}

Result<std::unique_ptr<Way>> AgentLink::open_way() {
  if (!host_.here || ways_.other) {
    const RemoteCommand command = {
        .words = [this] { return agent_command(ways_.binary, kept_executable_); },
        .script = [this] { return agent_script(ways_.binary, kept_executable_); }};
    return std::make_unique<RemoteWay>(*ways_.remote, host_, command, way_handlers());
  }
  Carrier carrier = TRY(start_local_agent(ways_.open_files_max));
  return TRY(
      ProcessWay::open(loop_, std::move(carrier), {.explain = end_of_local_agent}, way_handlers()));
}

Result<> AgentLink::start() {
  auto way = open_way();
  if (!way) return tl::unexpected(std::move(way).error());
  way_ = *std::move(way);
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
        way_->arrived();  // how long the rest takes is up to the network and --start-timeout
        unpushed_ = ways_.binary.bytes();
        push_some();
        break;
      case AgentStart::Step::agent:
        starting_.reset();
        way_->arrived();
        way_->write(std::exchange(early_, {}));
        return used;
      case AgentStart::Step::failed:
        lose(starting_->why());
        break;
    }
  }
  return used;
}

void AgentLink::push_some() {
  while (!unpushed_.empty() && way_->unsent() < push_bytes_ahead) {
    const ByteSpan piece = unpushed_.first(std::min(unpushed_.size(), push_bytes));
    unpushed_ = unpushed_.subspan(piece.size());
    way_->write(piece);
  }
}

void AgentLink::way_ended(const Way::End& end) {
  if (!starting_) return lose(end.why);
  const bool was_kept = starting_->ran_kept_copy() && !end.timed_out;
  if (!was_kept || kept_executable_ == KeptExecutable::distrust) return lose(why_not_started(end));
  kept_executable_ = KeptExecutable::distrust;
  starting_.emplace(ways_.architecture);
  if (const auto started = start(); !started) lose(started.error().message);
}

std::string AgentLink::why_not_started(const Way::End& end) {
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
    way_->write(frames);
  }
}

void AgentLink::lose(std::string why) {
  if (gone_) return;
  gone_ = true;
  why_ = std::move(why);
  if (way_) way_->hang_up();
  if (handlers_.on_gone) handlers_.on_gone();
}

void AgentLink::let_go() {
  if (gone_) return;
  gone_ = true;
  if (way_) way_->close_after_sending();
}

void AgentLink::kill() {
  if (way_) way_->kill();
}

}  // namespace dt
