#include "launcher/nodes/node_relay.h"

#include "base/format.h"
#include "base/io/signals.h"
#include "launcher/process/open_files.h"

#include <csignal>
#include <utility>

namespace dt {

namespace {

/// How long a node whose agent has finished waits for the end of the job on other nodes.
constexpr Duration end_patience = seconds(60);

AgentConnection::CloseReason end_of_agent(const ProcessConnection::Facts& facts) {
  return {.why = facts.status ? facts.status->text() : std::string("its connection ended")};
}

}  // namespace

NodeRelay::NodeRelay(Runtime& runtime, Options options)
    : runtime_(runtime),
      options_(std::move(options)),
      output_({runtime.loop(), runtime.log(), runtime.out(), runtime.err()}, options_.output,
              own_reader_patience,
              {.on_taken = [this](uint32_t stream, size_t bytes) { taken(stream, bytes); },
               .on_room = [this] { grant_held(); }}) {
}

Result<> NodeRelay::open(Dialed node_0) {
  SpawnedProcess process =
      TRY(start_local_agent({.open_files_max = raise_open_files_limit(), .seen_from_afar = true}));
  link_ = TRY(Stream::open(runtime_.loop(), std::move(node_0.connection), Fd(),
                           {.on_bytes = [this](ByteSpan bytes) { return receive_records(bytes); },
                            .on_end =
                                [this](const std::optional<Error>& why) {
                                  lose_node_0(why ? why->message : "its connection ended");
                                },
                            .on_drained = {}}));
  records_.emplace(std::move(node_0.session));
  agent_ = TRY(ProcessConnection::open(
      runtime_.loop(), std::move(process), {.explain = end_of_agent},
      {.on_bytes = [this](ByteSpan bytes) { return receive_from_agent(bytes); },
       .on_end = [this](const AgentConnection::CloseReason& reason) { agent_ended(reason.why); }}));
  Bytes opening = to_bytes(agent_magic);
  append_message(opening, MessageType::node, {}, encode(options_.intro));
  send_records(opening);
  return {};
}

Result<int> NodeRelay::run() {
  const Runtime::SignalHandlerScope signals(runtime_, [this](int number) { signalled(number); });
  while (!status_ || !agent_->ended())
    TRY(runtime_.loop().run_once(Time::max()));
  output_.close();
  while (*status_ == 0 && output_.waits())
    TRY(runtime_.loop().run_once(Time::max()));
  return *status_;
}

// From and to node 0.

size_t NodeRelay::receive_records(ByteSpan bytes) {
  const auto used = records_->open(bytes, opened_);
  if (!used) {
    lose_node_0(used.error().message);
    return bytes.size();
  }
  const auto taken = take_messages(
      from_node_0_, opened_, [this](const FrameView& message) { return from_node_0(message); });
  if (!taken) {
    lose_node_0("protocol error: " + taken.error().message);
    return bytes.size();
  }
  opened_.erase(opened_.begin(), opened_.begin() + static_cast<ptrdiff_t>(*taken));
  return *used;
}

template <class Take>
Result<size_t> NodeRelay::take_messages(MessageAssembler& messages, ByteSpan bytes, Take take) {
  size_t used = 0;
  while (true) {
    const auto frame = TRY(front_frame(bytes.subspan(used)));
    if (!frame) return used;
    const auto message = TRY(messages.add(*frame));
    if (message) TRY(take(*message));
    used += frame_header_bytes + frame->header.length;
  }
}

Result<> NodeRelay::from_node_0(const FrameView& message) {
  switch (static_cast<MessageType>(message.header.type)) {
    case MessageType::prepare:
      return prepare(message);
    case MessageType::launch:
      return launch(message);
    case MessageType::restart: {
      const auto wanted = TRY(decode<Restart>(message.payload));
      output_.restarted(wanted.task);
      to_agent(message);
      return {};
    }
    case MessageType::finish: {
      const auto wanted = TRY(decode<Finish>(message.payload));
      finishing_ = !wanted.stays;
      to_agent(message);
      return {};
    }
    case MessageType::credit:
      if (output_.is_full()) {
        append_message(held_credit_, MessageType::credit, message.header, message.payload);
      } else {
        to_agent(message);
      }
      return {};
    case MessageType::dismissed: {
      const auto dismissed = TRY(decode<Dismissed>(message.payload));
      if (!dismissed.reason.empty()) runtime_.log().error("node 0: {}", dismissed.reason);
      end(dismissed.status);
      return {};
    }
    default:
      to_agent(message);
      return {};
  }
}

/// The command, and the PATH in which it is looked up, are those of this node.
Result<> NodeRelay::prepare(const FrameView& message) {
  auto wanted = TRY(decode<Prepare>(message.payload));
  wanted.command = options_.intro.command;
  if (!options_.path.empty()) wanted.path = options_.path;
  heartbeat_interval_ = wanted.heartbeat;
  Bytes frames;
  append_message(frames, MessageType::prepare, message.header, encode(wanted));
  agent_->write(frames);
  return {};
}

/// Node 0's PATH is for its own tasks.
Result<> NodeRelay::launch(const FrameView& message) {
  auto wanted = TRY(decode<Launch>(message.payload));
  if (!options_.path.empty()) wanted.forwarded.erase("PATH");
  TRY(output_.begin(wanted));
  Bytes frames;
  append_message(frames, MessageType::launch, message.header, encode(wanted));
  agent_->write(frames);
  return {};
}

void NodeRelay::to_agent(const FrameView& message) {
  Bytes frames;
  append_message(frames, static_cast<MessageType>(message.header.type), message.header,
                 message.payload);
  agent_->write(frames);
}

void NodeRelay::send_records(ByteSpan bytes) {
  if (!link_ || status_) return;  // at the end, this direction is closed
  Bytes sealed;
  records_->seal(sealed, bytes);
  link_->write(sealed);
}

void NodeRelay::lose_node_0(const std::string& why) {
  link_.reset();
  if (status_) return;
  runtime_.log().error("node 0 lost: {}", why);
  end(exit_status_of(Errc::unreachable));
}

// From the agent.

size_t NodeRelay::receive_from_agent(ByteSpan bytes) {
  size_t used = 0;
  // This node has sent the magic line itself.
  if (!spoken_) {
    if (bytes.size() < agent_magic.size()) return 0;
    used = agent_magic.size();
    spoken_ = true;
  }
  const auto taken =
      take_messages(from_agent_, bytes.subspan(used), [this](const FrameView& message) {
        from_agent(message);
        return Result<>();
      });
  if (!taken) {
    leave("protocol error of its agent: " + taken.error().message, exit_status_of(Errc::protocol));
    return bytes.size();
  }
  send_records(bytes.subspan(used, *taken));
  return used + *taken;
}

void NodeRelay::from_agent(const FrameView& message) {
  switch (static_cast<MessageType>(message.header.type)) {
    case MessageType::output:
      output_.add(message.header.stream, message.payload);
      break;
    case MessageType::output_end:
      output_.end(message.header.stream);
      break;
    case MessageType::lease_over:
      lease_over_ = true;
      break;
    default:
      break;
  }
}

/// Node 0 grants nothing to a node that leaves, and the tasks may have last lines.
void NodeRelay::taken(uint32_t stream, size_t bytes) {
  if (!is_leaving_) return;
  append_message(held_credit_, MessageType::credit, {.stream = stream},
                 encode_credit(static_cast<uint32_t>(bytes)));
}

void NodeRelay::grant_held() {
  const bool is_read = !status_ || is_leaving_;
  if (is_read && !held_credit_.empty()) agent_->write(std::exchange(held_credit_, {}));
}

/// The end of an agent that has finished is no loss: the job may still run on other nodes.
void NodeRelay::agent_ended(const std::string& why) {
  if (status_) return;
  if (lease_over_) return lose_node_0("nothing came from it for too long; see --dead-after");
  if (!finishing_) return leave("its agent ended: " + why, 1);
  end_timer_ =
      runtime_.loop().after(end_patience, [this] { lose_node_0("the job's end did not come"); });
}

// The end.

void NodeRelay::signalled(int number) {
  if (number == SIGPIPE) {
    runtime_.log().warn(
        "standard output has no reader any more: what the tasks of this node print is not shown "
        "here; node 0 has it");
  }
  if (number != SIGINT && number != SIGTERM && number != SIGHUP && number != SIGQUIT) return;
  if (status_) output_.stop_waiting();
  if (status_) return end(*status_);  // again: at once
  leave(format("it got {}", signal_name(number)), 128 + number);
}

/// Node 0 counts this node as lost from now on, and the tasks here have the grace to end.
void NodeRelay::leave(const std::string& why, int status) {
  if (status_) return;
  Bytes frames;
  append_message(frames, MessageType::leaving, {}, encode(Leaving{why}));
  send_records(frames);
  if (link_) link_->close_after_sending();
  status_ = status;
  runtime_.log().warn("this node leaves the job: {}", why);
  if (!output_.has_tasks()) return agent_->close_after_sending();
  is_leaving_ = true;
  Bytes order;
  append_message(order, MessageType::finish, {}, encode(Finish{options_.grace, false}));
  agent_->write(order);
  beat();
}

/// Keeps the lease of an agent that has no other launcher.
void NodeRelay::beat() {
  Bytes frames;
  append_message(frames, MessageType::heartbeat, {}, {});
  agent_->write(frames);
  heartbeat_ = runtime_.loop().after(heartbeat_interval_, [this] { beat(); });
}

void NodeRelay::end(int status) {
  status_ = status;
  is_leaving_ = false;
  heartbeat_ = Timer();
  if (link_) link_->close_after_sending();
  agent_->close_after_sending();
}

}  // namespace dt
