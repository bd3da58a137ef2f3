#include "launcher/agent_link.h"

#include "base/format.h"
#include "base/text.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>

namespace dt {

namespace {

/// The end of a link and that of its process belong together, but do not come together.
constexpr Duration end_patience = seconds(1);
/// After the time to connect, for the client to say in its own words what it waited for.
constexpr Duration last_words = milliseconds(500);
constexpr size_t said_bytes_max = size_t{8} << 10;
constexpr Duration again_first = milliseconds(100);
constexpr Duration again_max = seconds(2);

/// Grows from try to try, and differs from host to host, so that many do not come at once again.
Duration pause_before(int attempt, const std::string& host, uint64_t own) {
  Duration pause = again_first;
  for (int i = 1; i < attempt && pause < again_max; ++i)
    pause *= 2;
  const size_t noise = std::hash<std::string>()(format("{}/{}/{}", host, attempt, own));
  return pause / 2 + pause * static_cast<int64_t>(noise % 1000) / 1000;
}

SshRequest request_for(const Host& host, const LoginOptions& options) {
  SshRequest request = {.host = host.name, .port = options.port, .config_file = options.config};
  if (!host.user.empty()) request.user = host.user;
  if (options.identity) request.identity_files = {*options.identity};
  return request;
}

}  // namespace

AgentLink::AgentLink(Loop& loop, Host host, const AgentWays& ways, Handlers handlers)
    : loop_(loop),
      host_(std::move(host)),
      ways_(ways),
      handlers_(std::move(handlers)),
      connect_deadline_(loop_.now() + ways.ssh.connect_timeout),
      lease_(ways.dead_after, loop_.now()) {
}

Result<Carrier> AgentLink::start_carrier() const {
  if (ways_.other) return ways_.other(host_);
  if (host_.here) return start_local_agent(ways_.open_files_max);
  return start_client(ssh_words(request_for(host_, ways_.ssh), ways_.ssh.connect_timeout,
                                agent_command(ways_.binary, kept_executable_)));
}

Result<> AgentLink::start() {
  ++attempt_;
  said_.clear();
  starting_.emplace(ways_.architecture);
  Carrier carrier = TRY(start_carrier());
  process_ = std::move(carrier.process);
  messages_ = std::move(carrier.messages);
  if (messages_) {
    messages_watch_ =
        TRY(loop_.watch(messages_.get(), EPOLLIN, [this](uint32_t) { read_messages(); }));
  }
  if (!host_.here) give_up_ = loop_.at(connect_deadline_ + last_words, [this] { no_answer(); });
  stream_ = TRY(Stream::open(loop_, std::move(carrier.from_agent), std::move(carrier.to_agent),
                             {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                              .on_end = [this](const std::optional<Error>&) { way_ended(); },
                              .on_drained = {}}));
  return {};
}

void AgentLink::read_messages() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(messages_.get(), buffer.data(), buffer.size());
    if (n < 0) return;
    if (n == 0) break;
    said_.append(buffer.data(), static_cast<size_t>(n));
    if (said_.size() > said_bytes_max) said_.erase(0, said_.size() - said_bytes_max);
  }
  messages_watch_ = Watch();
  messages_.reset();
}

size_t AgentLink::receive(ByteSpan bytes) {
  lease_.heard(loop_.now());
  size_t used = starting_ ? receive_start(bytes) : 0;
  while (!starting_ && !gone_) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) break;
    const auto message = frame ? assembler_.add(**frame) : tl::unexpected(frame.error());
    const Result<> handled = !message   ? tl::unexpected(message.error())
                             : *message ? handlers_.on_message(**message)
                                        : Result<>();
    if (!handled) {
      lose("protocol error: " + handled.error().message);
      return bytes.size();
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return used;
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
        give_up_ = Timer();  // how long the rest takes is up to the network and --start-timeout
        pushed_ = true;
        stream_->write(ways_.binary.bytes);
        break;
      case AgentStart::Step::agent:
        starting_.reset();
        give_up_ = Timer();
        stream_->write(std::exchange(early_, {}));
        return used;
      case AgentStart::Step::failed:
        lose(starting_->why());
        return bytes.size();
    }
  }
  return used;
}

void AgentLink::way_ended() {
  stream_.reset();
  if (!process_) {
    process_ended();
    return;
  }
  auto watch = loop_.watch(process_->pidfd(), EPOLLIN, [this](uint32_t) { process_ended(); });
  if (watch) exit_watch_ = *std::move(watch);
  patience_ = loop_.after(end_patience, [this] { process_ended(); });
}

void AgentLink::process_ended() {
  exit_watch_ = Watch();
  patience_ = Timer();
  if (messages_) read_messages();
  std::optional<ExitStatus> status;
  pollfd ended = {.fd = process_ ? process_->pidfd() : -1, .events = POLLIN, .revents = 0};
  if (process_ && poll(&ended, 1, 0) == 1) {
    if (const auto reaped = process_->reap()) status = *reaped;
    process_.reset();
  }
  if (!starting_) {
    lose(end_of_speaking(status));
    return;
  }
  if (starting_->ran_kept_copy() && kept_executable_ == KeptExecutable::trust) {
    kept_executable_ = KeptExecutable::distrust;
    start_again(Clock::now());
    return;
  }
  const std::string how = status ? status->text() : "its connection ended";
  const ClientFailure failure = client_failure(request_for(host_, ways_.ssh), said_, how);
  if (try_again(failure)) return;
  // A login that came so far has said more about it than the client can.
  const bool logged_in = said_.empty() || (status && status->code != 255);
  lose(logged_in ? starting_->why() : failure.text);
}

std::string AgentLink::end_of_speaking(const std::optional<ExitStatus>& status) const {
  const std::string how = status ? "its process ended: " + status->text() : "its connection ended";
  return host_.here ? how : client_failure(request_for(host_, ways_.ssh), said_, how).text;
}

void AgentLink::no_answer() {
  const std::string waited = duration_text(ways_.ssh.connect_timeout);
  lose(said_.empty()
           ? format("no answer for {} (--connect-timeout)", waited)
           : client_failure(request_for(host_, ways_.ssh), said_, "no answer for " + waited).text);
}

bool AgentLink::try_again(const ClientFailure& failure) {
  if (!failure.again || gone_) return false;
  const Time when = loop_.now() + pause_before(attempt_, host_.name, ways_.noise);
  if (when >= connect_deadline_) return false;
  start_again(when);
  return true;
}

void AgentLink::start_again(Time when) {
  again_ = loop_.at(when, [this] {
    if (const auto started = start(); !started) lose(started.error().message);
  });
}

void AgentLink::write(ByteSpan frames) {
  if (gone_) return;
  // A shell that starts the agent would take them for its own input.
  if (starting_) {
    early_.insert(early_.end(), frames.begin(), frames.end());
  } else if (stream_) {
    stream_->write(frames);
  }
}

void AgentLink::lose(std::string why) {
  if (gone_) return;
  gone_ = true;
  why_ = std::move(why);
  again_ = Timer();
  give_up_ = Timer();
  stream_.reset();
  if (handlers_.on_gone) handlers_.on_gone();
}

void AgentLink::let_go() {
  if (gone_) return;
  gone_ = true;
  again_ = Timer();
  give_up_ = Timer();
  if (stream_) stream_->close_after_sending();
}

void AgentLink::collect(Time deadline) {
  let_go();
  exit_watch_ = Watch();
  if (!process_) return;
  pollfd ended = {.fd = process_->pidfd(), .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, poll_ms(loop_.now(), deadline)) != 1) ::kill(process_->pid(), SIGKILL);
  if (process_->reap()) process_.reset();
}

}  // namespace dt
