#include "launcher/connect/process_connection.h"

#include "launcher/agent/error_folder.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace dt {

namespace {

/// A process closes its pipes before it ends: how long its exit status is awaited then.
constexpr Duration exit_patience = seconds(1);
constexpr size_t stderr_bytes_max = size_t{32} << 10;

}  // namespace

ProcessConnection::ProcessConnection(Loop& loop, Options options, Handlers handlers)
    : loop_(loop), options_(std::move(options)), handlers_(std::move(handlers)) {
}

Result<std::unique_ptr<ProcessConnection>> ProcessConnection::open(Loop& loop,
                                                                   SpawnedProcess process,
                                                                   Options options,
                                                                   Handlers handlers) {
  std::unique_ptr<ProcessConnection> connection(
      new ProcessConnection(loop, std::move(options), std::move(handlers)));
  TRY(connection->begin(std::move(process)));
  return connection;
}

Result<> ProcessConnection::begin(SpawnedProcess process) {
  process_ = std::move(process.process);
  messages_ = std::move(process.messages);
  if (messages_) {
    messages_watch_ = TRY(loop_.watch(messages_.get(), EPOLLIN, [this](uint32_t) {
      read_messages();
      if (!end_reported_ && handlers_.on_stderr) handlers_.on_stderr(facts_.stderr_text);
    }));
  }
  stream_ = TRY(Stream::open(loop_, std::move(process.from_agent), std::move(process.to_agent),
                             {.on_bytes =
                                  [this](ByteSpan bytes) {
                                    facts_.heard = true;
                                    return handlers_.on_bytes(bytes);
                                  },
                              .on_end = [this](const std::optional<Error>&) { stream_ended(); },
                              .on_drained = handlers_.on_drained}));
  return {};
}

ProcessConnection::~ProcessConnection() {
  if (options_.is_client) kill();
}

void ProcessConnection::write(ByteSpan bytes) {
  if (stream_) stream_->write(bytes);
}

void ProcessConnection::close_after_sending() {
  if (stream_) stream_->close_after_sending();
}

void ProcessConnection::hang_up() {
  end_reported_ = true;
  patience_ = Timer();
  stream_.reset();
  if (options_.is_client) {
    kill();
  } else if (process_ && !exit_watch_) {
    // The agent ends its tasks first, and is reaped when it has ended.
    [[maybe_unused]] const auto watched = watch_process();
  }
}

void ProcessConnection::kill() {
  end_reported_ = true;
  exit_watch_ = Watch();
  if (!process_) return;
  [[maybe_unused]] const auto reaped = reap_process([this] { return process_->kill(); });
}

bool ProcessConnection::owns(pid_t pid) const {
  return process_ && process_->pid() == pid;
}

Result<ExitStatus> ProcessConnection::reap_process(
    const std::function<Result<ExitStatus>()>& reap) {
  // path_of() reads /proc, so it must be called before the agent is reaped.
  const std::string errors =
      options_.is_client ? std::string() : ErrorFolder::path_of(process_->pid());
  auto status = reap();
  process_.reset();
  if (!status || status->signal != 0) ErrorFolder::remove(errors);
  return status;
}

AgentConnection::CloseReason ProcessConnection::so_far() {
  if (messages_) read_messages();
  return options_.explain(facts_);
}

void ProcessConnection::read_messages() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(messages_.get(), buffer.data(), buffer.size());
    if (n < 0) break;
    if (n == 0) {
      messages_watch_ = Watch();
      messages_.reset();
      break;
    }
    std::string& stderr_text = facts_.stderr_text;
    stderr_text.append(buffer.data(), static_cast<size_t>(n));
    if (stderr_text.size() > stderr_bytes_max)
      stderr_text.erase(0, stderr_text.size() - stderr_bytes_max);
  }
}

void ProcessConnection::stream_ended() {
  stream_.reset();
  facts_.ended = true;
  if (!process_ || !watch_process()) return finish();
  patience_ = loop_.after(exit_patience, [this] { finish(); });
}

Result<> ProcessConnection::watch_process() {
  exit_watch_ = TRY(loop_.watch(process_->pidfd(), EPOLLIN, [this](uint32_t) { process_ended(); }));
  return {};
}

void ProcessConnection::process_ended() {
  exit_watch_ = Watch();
  if (const auto status = reap_process([this] { return process_->reap(); }))
    facts_.status = *status;
  if (!end_reported_) finish();
}

void ProcessConnection::finish() {
  patience_ = Timer();
  if (std::exchange(end_reported_, true)) return;
  const auto on_end = handlers_.on_end;  // a copy: the call may destroy this
  on_end(so_far());
}

}  // namespace dt
